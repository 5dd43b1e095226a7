import type { Arguments } from "./arguments.ts";
import { channelOf, joinedChannelOf, type Method, type MethodContext, messageOf } from "./method.ts";
import { chatMethods } from "./methods-chat.ts";
import { streamMethods } from "./methods-streams.ts";
import { fileMethods } from "./methods-files.ts";
import { manifestMethods } from "./methods-manifest.ts";
import { oauthMethods } from "./methods-oauth.ts";
import { viewMethods } from "./methods-views.ts";
import { Refusal } from "./refusal.ts";
import { type FakeMessage, wireMessage } from "./workspace.ts";

const historyScopes = {
  public: "channels:history",
  private: "groups:history",
  im: "im:history",
  mpim: "mpim:history",
};
const readScopes = { public: "channels:read", private: "groups:read", im: "im:read", mpim: "mpim:read" };

const emojiName = /^[a-z0-9_+'-]{1,100}(::skin-tone-[2-6])?$/;

function reactionOf(args: Arguments): string {
  const name = args.text("name");
  if (!emojiName.test(name)) throw new Refusal("invalid_name");
  return name;
}

function page(messages: FakeMessage[], args: Arguments, context: MethodContext): Record<string, unknown> {
  const limit = Math.min(999, Number(args.optionalText("limit") ?? 100));
  const start = Number(args.optionalText("cursor") ?? 0);
  const hasMore = messages.length > start + limit;
  const withMetadata = args.flag("include_all_metadata", false);
  return {
    messages: messages
      .slice(start, start + limit)
      .map((message) => wireMessage(context.workspace, message, { withMetadata })),
    has_more: hasMore,
    response_metadata: { next_cursor: hasMore ? String(start + limit) : "" },
  };
}

/** Whether a message is in the time span that was asked for, whose ends count only where that is said. */
function spanOf(args: Arguments): (message: FakeMessage) => boolean {
  const end = (name: "oldest" | "latest", otherwise: number) => {
    const ts = args.optionalText(name);
    if (ts !== undefined && !/^\d{1,10}(\.\d{1,6})?$/.test(ts)) throw new Refusal(`invalid_ts_${name}`);
    return ts === undefined ? otherwise : Number(ts);
  };
  const oldest = end("oldest", 0);
  const latest = end("latest", Infinity);
  const inclusive = args.flag("inclusive", false);
  return ({ ts }) => {
    const at = Number(ts);
    return inclusive ? at >= oldest && at <= latest : at > oldest && at < latest;
  };
}

/** Every method that the fake knows; any other is `unknown_method`. */
export const methods: Record<string, Method> = {
  ...chatMethods,
  ...streamMethods,
  ...fileMethods,
  ...viewMethods,
  ...oauthMethods,
  ...manifestMethods,

  "auth.test": {
    token: "bot",
    run: (_args, { workspace, address }) => ({
      url: address("/"),
      team: "Fake team",
      user: workspace.bot.name,
      team_id: workspace.teamId,
      user_id: workspace.bot.id,
      bot_id: workspace.bot.botId,
      is_enterprise_install: workspace.organisation !== undefined,
      ...(workspace.organisation && { enterprise_id: workspace.organisation.id }),
    }),
  },

  // https://docs.slack.dev/reference/methods/auth.teams.list
  "auth.teams.list": {
    token: "bot",
    args: "limit cursor include_icon",
    run: (_args, { workspace }) => {
      const teams = workspace.organisation?.teams ?? [workspace.teamId];
      return { teams: [...teams].map((id) => ({ id, name: id })) };
    },
  },

  // https://docs.slack.dev/reference/methods/bots.info
  "bots.info": {
    token: "bot",
    args: "bot team_id",
    needsTeam: true,
    scope: "users:read",
    run: (args, { workspace }) => {
      if (args.text("bot") !== workspace.bot.botId) throw new Refusal("bot_not_found");
      const { id: user_id, name } = workspace.bot;
      return { bot: { id: args.text("bot"), deleted: false, name, user_id, app_id: workspace.appId } };
    },
  },

  "apps.connections.open": {
    token: "app",
    scope: "connections:write",
    run: (_args, { address, issueTicket }) => ({ url: address(`/link/?ticket=${issueTicket()}`, "ws") }),
  },

  "users.info": {
    token: "bot",
    args: "user include_locale",
    scope: "users:read",
    run: (args, { workspace }) => {
      const user = workspace.users.get(args.text("user"));
      if (!user) throw new Refusal("user_not_found");
      return {
        user: {
          id: user.id,
          name: user.name,
          real_name: user.name,
          team_id: user.teamId,
          is_bot: user.isBot,
          deleted: user.isDeactivated,
          is_admin: user.isAdmin,
          is_owner: false,
          is_restricted: user.isGuest,
          is_ultra_restricted: false,
          is_stranger: user.teamId !== workspace.teamId,
          profile: { display_name: user.name, real_name: user.name },
        },
      };
    },
  },

  "reactions.add": {
    token: "bot",
    args: "channel timestamp name",
    scope: "reactions:write",
    run: (args, context) => {
      const message = messageOf(args, joinedChannelOf(args, context), context, "timestamp");
      const name = reactionOf(args);
      const { bot } = context.workspace;
      if (message.reactions.get(name)?.has(bot.id)) throw new Refusal("already_reacted");
      context.workspace.react(bot, name, message);
      return {};
    },
  },

  "reactions.remove": {
    token: "bot",
    args: "channel timestamp name",
    scope: "reactions:write",
    run: (args, context) => {
      const message = messageOf(args, joinedChannelOf(args, context), context, "timestamp");
      const name = reactionOf(args);
      const { bot } = context.workspace;
      if (!message.reactions.get(name)?.has(bot.id)) throw new Refusal("no_reaction");
      context.workspace.unreact(bot, name, message);
      return {};
    },
  },

  "reactions.get": {
    token: "bot",
    args: "channel timestamp full",
    scope: "reactions:read",
    run: (args, context) => {
      const channel = joinedChannelOf(args, context);
      const message = messageOf(args, channel, context, "timestamp");
      return { type: "message", channel: channel.id, message: wireMessage(context.workspace, message) };
    },
  },

  "conversations.info": {
    token: "bot",
    args: "channel",
    scope: readScopes,
    run: (args, context) => {
      const channel = channelOf(args, context);
      return {
        channel: {
          id: channel.id,
          name: channel.name,
          is_im: channel.kind === "im",
          is_private: channel.kind !== "public",
          is_archived: channel.isArchived,
          is_member: channel.members.has(context.workspace.bot.id),
          is_ext_shared: channel.sharedBy !== undefined && channel.organisation === undefined,
          shared_team_ids: (channel.sharedBy ?? [context.workspace]).map(({ teamId }) => teamId),
        },
      };
    },
  },

  // https://docs.slack.dev/reference/methods/users.conversations: team_id is "required if org token is used".
  "users.conversations": {
    token: "bot",
    args: "types exclude_archived limit cursor team_id",
    needsTeam: true,
    scope: "channels:read",
    run: (_args, { workspace }) => ({
      channels: [...workspace.channels.values()]
        .filter(({ members, isArchived }) => members.has(workspace.bot.id) && !isArchived)
        .map(({ id, name }) => ({ id, name })),
    }),
  },

  "conversations.members": {
    token: "bot",
    args: "channel limit cursor",
    scope: readScopes,
    run: (args, context) => ({ members: [...channelOf(args, context).members] }),
  },

  "conversations.history": {
    token: "bot",
    args: "channel oldest latest inclusive limit cursor include_all_metadata",
    scope: historyScopes,
    run: (args, context) => {
      const { messages } = joinedChannelOf(args, context);
      const isWithin = spanOf(args);
      const shown = messages.filter((message) => {
        const { threadTs, ts, subtype } = message;
        const isTop = threadTs === undefined || threadTs === ts || subtype === "thread_broadcast";
        return isTop && isWithin(message);
      });
      return page(shown.toReversed(), args, context);
    },
  },

  "conversations.replies": {
    token: "bot",
    args: "channel ts oldest latest inclusive limit cursor include_all_metadata",
    scope: historyScopes,
    run: (args, context) => {
      const channel = joinedChannelOf(args, context);
      const parent = args.text("ts");
      const isWithin = spanOf(args);
      const thread = channel.messages.filter(({ ts, threadTs }) => ts === parent || threadTs === parent);
      if (thread.length === 0) throw new Refusal("thread_not_found");
      // The first message of a thread is always in the answer.
      return page(
        thread.filter((message) => message.ts === parent || isWithin(message)),
        args,
        context,
      );
    },
  },
};
