import { stringify } from "yaml";

/** The scopes that the bot needs; `start()` compares the granted ones with them. */
export const botScopes = [
  "app_mentions:read",
  "assistant:write",
  "channels:history",
  "channels:read",
  "chat:write",
  "commands",
  "files:read",
  "files:write",
  "groups:history",
  "groups:read",
  "im:history",
  "im:read",
  "mpim:history",
  "mpim:read",
  "reactions:read",
  "reactions:write",
  "users:read",
] as const;

/** The slash command. Slack has none inside threads. */
export const slashCommand = "/agent";
/** The entry in the menu of a message. */
export const aboutShortcut = "heddle_about";

/** Where Slack's requests and browsers come in, below the public address. */
export const eventsPath = "/slack/events";
export const installPath = "/slack/install";
export const redirectPath = "/slack/oauth_redirect";

const botEvents = [
  "agent_session_stopped",
  "app_home_opened",
  "app_mention",
  "app_uninstalled",
  "message.channels",
  "message.groups",
  "message.im",
  "message.mpim",
  "reaction_added",
  "tokens_revoked",
];

/** What people read who look at the app before they use it. Slack takes 174 to 4,000 characters. */
const longDescription =
  "Mention it in a channel and it works in that thread, in a sandboxed workspace that belongs to the thread alone. It shows its progress, takes anything you add in the meantime, and asks first where your team wants to decide. 🛑 on any of its messages stops it, and the receipt says what was killed and confirms that nothing is still running.";

interface ManifestOptions {
  /** How the bot is called, at most 35 characters. */
  name?: string;
  /** The public https address at which Slack reaches us; without it the app uses Socket Mode. */
  url?: string;
}

/**
 * The app manifest to paste at https://api.slack.com/apps (Create New App, From a manifest), as YAML. The
 * app-level token with `connections:write` cannot be part of a manifest and is made by hand.
 */
export function slackManifest({ name = "Heddle", url }: ManifestOptions = {}): string {
  const at = (path: string) => new URL(path, url).href;
  const requests = url === undefined ? undefined : at(eventsPath);
  return stringify({
    display_information: {
      name,
      description: "An agent that works in your threads",
      long_description: longDescription,
      background_color: "#3a3f58",
    },
    features: {
      bot_user: { display_name: name, always_online: true },
      app_home: { home_tab_enabled: true, messages_tab_enabled: true, messages_tab_read_only_enabled: false },
      agent_view: {
        agent_description:
          "Mention it in a thread and it works there, in a workspace of its own; 🛑 stops it.",
        // A press sends the message as it is.
        suggested_prompts: [
          { title: "What can you do?", message: "What can you do here? Answer in five lines." },
          {
            title: "Look at a file",
            message: "I will send you a file next. Tell me then what is in it and what looks odd.",
          },
          {
            title: "Run a script",
            message:
              "Write a small script that lists the prime numbers up to 100, run it and show me the result.",
          },
        ],
      },
      slash_commands: [
        {
          command: slashCommand,
          description: "Start a task in a thread of its own",
          usage_hint: "[model:name] [skill:name] [prompt:server/name] <task>",
          // Ids instead of plain "@ada", so that the agent is told who is meant.
          should_escape: true,
          ...(requests && { url: requests }),
        },
      ],
      shortcuts: [
        {
          name: "Ask the agent about this",
          type: "message",
          callback_id: aboutShortcut,
          description: "Gives the agent this message and your question",
        },
      ],
    },
    oauth_config: { ...(requests && { redirect_urls: [at(redirectPath)] }), scopes: { bot: [...botScopes] } },
    settings: {
      event_subscriptions: { ...(requests && { request_url: requests }), bot_events: botEvents },
      interactivity: { is_enabled: true, ...(requests && { request_url: requests }) },
      // Only what is told by requests can have several installations. Outside of Enterprise Grid it has no effect.
      // https://docs.slack.dev/reference/app-manifest
      org_deploy_enabled: requests !== undefined,
      socket_mode_enabled: requests === undefined,
      token_rotation_enabled: false,
    },
  }).trimEnd();
}
