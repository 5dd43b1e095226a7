import type { Arguments } from "./arguments.ts";
import { Refusal } from "./refusal.ts";
import type { ChannelKind, FakeChannel, FakeMessage, Workspace } from "./workspace.ts";

/** What a method works with. */
export interface MethodContext {
  workspace: Workspace;
  /** Scopes of the bot token. */
  scopes: readonly string[];
  /** Whether the app is declared as an agent. */
  isAgent: boolean;
  /** An address on this server. */
  address(path: string, scheme?: "http" | "ws"): string;
  issueTicket(): string;
  botToken: string;
  oauth: FakeOAuth;
}

/** For installations: the app's own name and secret, and the codes that are good for a token. */
export interface FakeOAuth {
  clientId: string;
  clientSecret: string;
  codes: Set<string>;
  /** What somebody installs the app for; `rotating`: its tokens expire. */
  kind: "workspace" | "organisation" | "rotating";
  /** Of a rotating app: its tokens, and whether each has expired. */
  tokens: Map<string, "good" | "expired">;
  /** What is good for the next token, once. */
  refreshToken?: string;
}

/** A method of the Web API: what it asks for, and what it does. It throws a {@link Refusal} for `ok: false`. */
export interface Method {
  token: "bot" | "app" | "configuration" | "none";
  /** The names of its arguments, of those that a bot like ours may use. */
  args?: string;
  /** With the token of an organisation it needs the id of a workspace. */
  needsTeam?: true;
  /** The scope that it takes; by kind where it depends on the channel. */
  scope?: string | Record<ChannelKind, string>;
  run(args: Arguments, context: MethodContext): Record<string, unknown>;
}

/** The channel of a call, if the bot may know of it. */
export function channelOf(args: Arguments, { workspace }: MethodContext, name = "channel"): FakeChannel {
  const channel = workspace.channels.get(args.text(name));
  const isVisible = channel?.kind === "public" || channel?.members.has(workspace.bot.id);
  if (!channel || !isVisible) throw new Refusal("channel_not_found");
  return channel;
}

/** The channel of a call that only members may make. */
export function joinedChannelOf(args: Arguments, context: MethodContext, name = "channel"): FakeChannel {
  const channel = channelOf(args, context, name);
  if (!channel.members.has(context.workspace.bot.id)) throw new Refusal("not_in_channel");
  return channel;
}

/** Slack ends a stream by itself after some five minutes (slackapi/python-slack-sdk#1859); it is not documented. */
const longestStreamMs = 5 * 60_000;

export function isStreaming({ stream }: FakeMessage, { workspace }: MethodContext): boolean {
  return stream?.isOpen === true && workspace.now() - stream.startedAt <= longestStreamMs;
}

export function messageOf(
  args: Arguments,
  channel: FakeChannel,
  context: MethodContext,
  name: string,
): FakeMessage {
  const message = context.workspace.message(channel, args.text(name));
  if (!message) throw new Refusal("message_not_found");
  return message;
}

/**
 * Calls a minute and workspace: Tier 2, 3 and 4. Slack lets some bursts through; this takes it at its word.
 * https://docs.slack.dev/apis/web-api/rate-limits
 */
const tiers = { "chat.startStream": 20, "chat.stopStream": 20, "chat.update": 50, "chat.appendStream": 100 };

/** Refuses what is over the method's tier. */
export function checkTier(method: keyof typeof tiers, { workspace }: MethodContext): void {
  const calls = (workspace.calledAt.get(method) ?? []).filter((at) => at > workspace.now() - 60_000);
  workspace.calledAt.set(method, [...calls, workspace.now()]);
  if (calls.length >= tiers[method])
    throw new Refusal("ratelimited", { response_metadata: { retryAfter: 30 } });
}
