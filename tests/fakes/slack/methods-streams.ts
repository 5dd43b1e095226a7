import { z } from "zod";
import type { Arguments } from "./arguments.ts";
import { checkBlocks, visibleBlocks } from "./blocks.ts";
import {
  checkTier,
  isStreaming,
  joinedChannelOf,
  type Method,
  type MethodContext,
  messageOf,
} from "./method.ts";
import { threadOf } from "./methods-chat.ts";
import { invalid, Refusal } from "./refusal.ts";
import type { FakeBlock, FakeMessage, FakeStream } from "./workspace.ts";

// Of details and outputs "256 characters" is what others found (NousResearch/hermes-agent#59010); it is not documented.
const short = z.string().min(1).max(256);

/** https://docs.slack.dev/messaging/sending-and-scheduling-messages#text-streaming */
const chunks = z.array(
  z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("markdown_text"), text: z.string().min(1).max(12_000) }),
    z.strictObject({
      type: z.literal("task_update"),
      id: z.string().min(1),
      title: short,
      status: z.enum(["pending", "in_progress", "complete", "error"]),
      details: short.optional(),
      output: short.optional(),
    }),
    z.strictObject({ type: z.literal("plan_update"), title: short }),
    z.strictObject({ type: z.literal("blocks"), blocks: z.array(z.unknown()).max(50) }),
  ]),
);

/** A streamed message was refused from some 10,600 bytes on (openclaw/openclaw#143882); it is not documented. */
const mostBytes = 10_600;

/** What a call adds. Text and chunks exclude each other, in a call and in a stream (seen, not documented). */
function add(args: Arguments, stream: FakeStream): void {
  if (args.has("markdown_text") && args.has("chunks"))
    throw new Refusal("cannot_provide_both_markdown_text_and_chunks");
  if (!args.has("markdown_text") && !args.has("chunks")) return;
  const mode = args.has("chunks") ? "chunks" : "text";
  if (stream.mode !== undefined && stream.mode !== mode) throw new Refusal("streaming_mode_mismatch");
  stream.mode = mode;
  const parsed = chunks.safeParse(
    mode === "chunks" ? args.json("chunks") : [{ type: "markdown_text", text: args.text("markdown_text") }],
  );
  if (!parsed.success) throw invalid("invalid_chunks", z.prettifyError(parsed.error));
  for (const chunk of parsed.data) {
    if (chunk.type === "markdown_text") stream.text += chunk.text;
    else if (chunk.type === "plan_update") stream.title = chunk.title;
    else if (chunk.type === "blocks") stream.blocks.push(...accepted(chunk.blocks));
    else stream.tasks.set(chunk.id, { ...stream.tasks.get(chunk.id), ...chunk });
  }
  if (Buffer.byteLength(JSON.stringify([...stream.tasks.values(), stream.text])) > mostBytes)
    throw new Refusal("msg_too_long");
}

function accepted(list: unknown): FakeBlock[] {
  const checked = checkBlocks(list);
  if (!checked.ok) throw invalid(checked.error, ...checked.messages);
  return checked.blocks;
}

/** The blocks that people see of it. */
function blocksOf({ title, tasks, text, blocks }: FakeStream): FakeBlock[] {
  const cards = [...tasks.values()].map(({ id, title: name, status, output }) => {
    const section = { type: "rich_text_section", elements: [{ type: "text", text: output }] };
    return {
      ...{ type: "task_card", task_id: id, title: name, status },
      ...(output !== undefined && { output: { type: "rich_text", elements: [section] } }),
    };
  });
  return [
    ...(cards.length > 0 ? [{ type: "plan", title: title || "Plan", tasks: cards }] : []),
    ...(text === "" ? [] : [{ type: "markdown", text }]),
    ...blocks,
  ];
}

function openStreamOf(args: Arguments, context: MethodContext): { message: FakeMessage; stream: FakeStream } {
  const message = messageOf(args, joinedChannelOf(args, context), context, "ts");
  const { workspace } = context;
  if (message.user !== workspace.bot) throw new Refusal("message_not_owned_by_app");
  const { stream } = message;
  // Slack's own Stop ends it. https://docs.slack.dev/reference/events/agent_session_stopped
  if (stream?.isStoppedByUser) throw new Refusal("stopped_by_user");
  if (!stream || !isStreaming(message, context)) throw new Refusal("message_not_in_streaming_state");
  return { message, stream };
}

function show({ workspace }: MethodContext, message: FakeMessage, stream: FakeStream): void {
  const blocks = blocksOf(stream);
  workspace.edit(message, { text: visibleBlocks(blocks), blocks });
}

/** Methods that write a message bit by bit. */
export const streamMethods: Record<string, Method> = {
  // https://docs.slack.dev/reference/methods/chat.startStream
  "chat.startStream": {
    token: "bot",
    args: "channel thread_ts markdown_text chunks recipient_user_id recipient_team_id task_display_mode",
    scope: "chat:write",
    run: (args, context) => {
      checkTier("chat.startStream", context);
      const { workspace } = context;
      const channel = joinedChannelOf(args, context);
      const { threadTs } = threadOf(args, channel);
      if (threadTs === undefined)
        throw invalid("invalid_arguments", "[ERROR] missing required field: thread_ts");
      if (channel.kind !== "im") {
        if (!args.has("recipient_team_id")) throw new Refusal("missing_recipient_team_id");
        if (!args.has("recipient_user_id")) throw new Refusal("missing_recipient_user_id");
      }
      const reader = args.optionalText("recipient_user_id");
      if (reader !== undefined && !workspace.users.has(reader)) throw new Refusal("user_not_found");
      const mode = args.optionalText("task_display_mode") ?? "timeline";
      if (!["timeline", "plan"].includes(mode))
        throw invalid("invalid_arguments", "[ERROR] task_display_mode");
      const stream: FakeStream = {
        ...{ isOpen: true, startedAt: workspace.now(), text: "", title: "" },
        ...{ tasks: new Map(), blocks: [] },
      };
      add(args, stream);
      const blocks = blocksOf(stream);
      const message = workspace.post({
        channel,
        user: workspace.bot,
        threadTs,
        text: visibleBlocks(blocks),
        blocks,
      });
      message.stream = stream;
      return { channel: channel.id, ts: message.ts };
    },
  },

  // https://docs.slack.dev/reference/methods/chat.appendStream
  "chat.appendStream": {
    token: "bot",
    args: "channel ts markdown_text chunks",
    scope: "chat:write",
    run: (args, context) => {
      checkTier("chat.appendStream", context);
      const { message, stream } = openStreamOf(args, context);
      if (!args.has("markdown_text") && !args.has("chunks")) throw new Refusal("no_text");
      add(args, stream);
      show(context, message, stream);
      return { channel: message.channel.id, ts: message.ts };
    },
  },

  // https://docs.slack.dev/reference/methods/chat.stopStream
  "chat.stopStream": {
    token: "bot",
    args: "channel ts markdown_text chunks blocks metadata session_status",
    scope: "chat:write",
    run: (args, context) => {
      checkTier("chat.stopStream", context);
      const { message, stream } = openStreamOf(args, context);
      const blocks = accepted(args.json("blocks") ?? []);
      add(args, stream);
      stream.blocks.push(...blocks);
      stream.isOpen = false;
      const metadata = args.json("metadata");
      if (metadata !== undefined) message.metadata = metadata;
      show(context, message, stream);
      return { channel: message.channel.id, ts: message.ts };
    },
  },
};
