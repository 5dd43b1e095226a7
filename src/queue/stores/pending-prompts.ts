import type { Redis } from "ioredis";
import { z } from "zod";
import { createStoredParser } from "../../agent/text/parse-stored.ts";
import { inputFieldSchema } from "../../agent/journal/question-schemas.ts";
import { attachmentSchema, type Fields, promptChoiceSchema } from "../../agent/journal/schemas.ts";
import type { InputField } from "../../agent/server-input.ts";
import type { Author, ContextMessage, InboundMessage } from "../../chat/inbound.ts";
import { messageRefSchema } from "../../chat/schemas.ts";
import { type ThreadId, threadId, type ThreadRef } from "../../chat/threads.ts";
import { daySeconds, keys } from "../redis/keys.ts";

/** A task whose prompt lacks arguments, and the fields that ask for them. */
export interface PendingPrompt {
  message: InboundMessage;
  fields: InputField[];
}

export interface PendingPrompts {
  keep(id: string, pending: PendingPrompt): Promise<void>;
  find(thread: ThreadId, id: string): Promise<PendingPrompt | undefined>;
  drop(thread: ThreadId, id: string): Promise<void>;
}

const optional = z.exactOptional;

const author = z.looseObject({
  ...{ id: z.string(), name: z.string(), roles: z.array(z.string()), unseenFor: optional(z.string()) },
  standing: z.literal(["operator", "member", "guest", "external", "bot"]),
} satisfies Fields<Author>);

const about = z.looseObject({
  ...{ author, text: z.string(), at: z.number(), attachments: optional(z.array(attachmentSchema)) },
} satisfies Fields<ContextMessage>);

const thread = z.looseObject({
  ...{ platform: z.string(), workspace: z.string(), channel: z.string(), thread: z.string() },
} satisfies Fields<ThreadRef>);

const message: z.ZodType<InboundMessage> = z.looseObject({
  ...{ kind: z.literal("message"), thread, ref: messageRefSchema, author, text: z.string() },
  ...{ attachments: z.array(attachmentSchema), about: optional(about), at: z.number() },
  options: optional(
    z.looseObject({
      ...{ model: optional(z.string()), skill: optional(z.string()), prompt: optional(promptChoiceSchema) },
    }),
  ),
  addressed: z.literal(["mention", "direct", "follow-up", "none"]),
  tellsRefusal: optional(z.literal(true)),
  trace: optional(z.string()),
} satisfies Fields<InboundMessage>);

const parse = createStoredParser<PendingPrompt>(
  z.looseObject({ message, fields: z.array(inputFieldSchema) } satisfies Fields<PendingPrompt>),
);

export function createPendingPrompts(redis: Redis): PendingPrompts {
  return {
    async keep(id, pending) {
      const key = keys.pendingPrompt(threadId(pending.message.thread), id);
      await redis.set(key, JSON.stringify(pending), "EX", daySeconds);
    },
    async find(of, id) {
      const parsed = parse((await redis.get(keys.pendingPrompt(of, id))) ?? "");
      return parsed.ok ? parsed.value : undefined;
    },
    async drop(of, id) {
      await redis.del(keys.pendingPrompt(of, id));
    },
  };
}
