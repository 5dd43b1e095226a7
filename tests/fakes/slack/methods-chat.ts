import { z } from "zod";
import type { Arguments } from "./arguments.ts";
import { checkBlocks } from "./blocks.ts";
import {
  checkTier,
  channelOf,
  isStreaming,
  joinedChannelOf,
  type Method,
  type MethodContext,
  messageOf,
} from "./method.ts";
import { invalid, Refusal } from "./refusal.ts";
import { type FakeChannel, type FakeMessage, wireMessage } from "./workspace.ts";

const sessionStatuses = ["active", "processing", "suspended", "closed"];

/** Text and blocks of a message to be posted or changed. */
function contentOf(args: Arguments): Pick<FakeMessage, "text" | "blocks"> {
  const text = args.optionalText("text") ?? "";
  if (args.has("markdown_text") && (args.has("text") || args.has("blocks")))
    throw new Refusal("markdown_text_conflict");
  if (text === "" && !args.has("blocks")) throw new Refusal("no_text");
  if (text.length > 40_000) throw new Refusal("msg_too_long");
  const checked = checkBlocks(args.json("blocks") ?? []);
  if (!checked.ok) throw invalid(checked.error, ...checked.messages);
  return { text, blocks: checked.blocks };
}

export function threadOf(args: Arguments, channel: FakeChannel): { threadTs?: string } {
  const threadTs = args.optionalText("thread_ts");
  if (threadTs === undefined) return {};
  if (!/^\d+\.\d{6}$/.test(threadTs)) throw new Refusal("invalid_thread_ts");
  const parent = channel.messages.find(({ ts }) => ts === threadTs);
  if (!parent) throw new Refusal("thread_not_found");
  return { threadTs: parent.threadTs ?? threadTs };
}

function ownMessageOf(args: Arguments, context: MethodContext, refusal: string): FakeMessage {
  const message = messageOf(args, channelOf(args, context), context, "ts");
  if (message.user !== context.workspace.bot) throw new Refusal(refusal);
  return message;
}

/** Methods that write messages, and those that set the state of an agent's thread. */
export const chatMethods: Record<string, Method> = {
  "chat.postMessage": {
    token: "bot",
    args: "channel thread_ts text blocks markdown_text metadata unfurl_links unfurl_media parse link_names",
    scope: "chat:write",
    run: (args, context) => {
      const channel = joinedChannelOf(args, context);
      if (channel.isArchived) throw new Refusal("is_archived");
      const { workspace } = context;
      const metadata = args.json("metadata");
      const message = workspace.post({
        channel,
        user: workspace.bot,
        ...contentOf(args),
        ...threadOf(args, channel),
        ...(metadata !== undefined && { metadata }),
        unfurls: args.flag("unfurl_links", true) || args.flag("unfurl_media", true),
      });
      return { channel: channel.id, ts: message.ts, message: wireMessage(workspace, message) };
    },
  },

  "chat.postEphemeral": {
    token: "bot",
    args: "channel user thread_ts text blocks",
    scope: "chat:write",
    run: (args, context) => {
      const { workspace } = context;
      const channel = joinedChannelOf(args, context);
      const user = args.text("user");
      if (!channel.members.has(user)) throw new Refusal("user_not_in_channel");
      const { text } = contentOf(args);
      const { threadTs } = threadOf(args, channel);
      const hasReplies = channel.messages.some(({ ts, threadTs: of }) => of === threadTs && ts !== threadTs);
      // "Ephemeral messages in threads are only shown if there is already an active thread": nobody sees others, and the
      // call is accepted. https://docs.slack.dev/reference/methods/chat.postEphemeral
      if (threadTs === undefined || hasReplies)
        workspace.ephemerals.push({ user, channel: channel.id, text, ...(threadTs && { threadTs }) });
      return { message_ts: workspace.timestamp() };
    },
  },

  "chat.update": {
    token: "bot",
    args: "channel ts text blocks markdown_text metadata parse link_names",
    scope: "chat:write",
    run: (args, context) => {
      checkTier("chat.update", context);
      const message = ownMessageOf(args, context, "cant_update_message");
      if (message.channel.isArchived) throw new Refusal("is_archived");
      // https://docs.slack.dev/reference/methods/chat.update
      if (isStreaming(message, context)) throw new Refusal("streaming_state_conflict");
      context.workspace.edit(message, contentOf(args));
      return { channel: message.channel.id, ts: message.ts, text: message.text };
    },
  },

  "chat.delete": {
    token: "bot",
    args: "channel ts",
    scope: "chat:write",
    run: (args, context) => {
      const message = ownMessageOf(args, context, "cant_delete_message");
      // Seen, not documented.
      if (isStreaming(message, context)) throw new Refusal("cant_delete_message");
      context.workspace.remove(message);
      return { channel: message.channel.id, ts: message.ts };
    },
  },

  "agents.sessions.setStatus": {
    token: "bot",
    args: "channel_id thread_ts status title initiator_user_id",
    scope: "chat:write",
    run: (args, context) => {
      if (!context.isAgent || !context.scopes.includes("assistant:write"))
        throw new Refusal("not_authorized");
      const channel = joinedChannelOf(args, context, "channel_id");
      const status = args.text("status");
      if (!sessionStatuses.includes(status)) throw invalid("invalid_arguments", "[ERROR] unknown status");
      const { threadTs } = threadOf(args, channel);
      if (threadTs === undefined)
        throw invalid("invalid_arguments", "[ERROR] missing required field: thread_ts");
      const title = args.optionalText("title");
      if (title !== undefined && title.length > 200) throw invalid("invalid_arguments", "[ERROR] title");
      const id = `${channel.id}:${threadTs}`;
      // Its title is set only where the session is created.
      // https://docs.slack.dev/reference/methods/agents.sessions.setStatus
      if (title !== undefined && !context.workspace.sessions.has(id)) context.workspace.titles.set(id, title);
      context.workspace.sessions.set(id, status);
      return { session: { channel_id: channel.id, thread_ts: threadTs, status } };
    },
  },

  "assistant.threads.setStatus": {
    token: "bot",
    args: "channel_id thread_ts status loading_messages",
    scope: "chat:write",
    run: (args, context) => {
      const channel = joinedChannelOf(args, context, "channel_id");
      args.text("thread_ts");
      const { threadTs } = threadOf(args, channel);
      const status = args.optionalText("status") ?? "";
      // "Maximum of 10 messages." https://docs.slack.dev/reference/methods/assistant.threads.setStatus
      const loading = z
        .array(z.string().min(1))
        .max(10)
        .safeParse(args.json("loading_messages") ?? []);
      if (!loading.success) throw invalid("invalid_arguments", "[ERROR] loading_messages");
      if (status === "") context.workspace.statuses.delete(`${channel.id}:${threadTs}`);
      else context.workspace.statuses.set(`${channel.id}:${threadTs}`, status);
      return {};
    },
  },
};
