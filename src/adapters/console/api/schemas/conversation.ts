import { z } from "zod";
import { acts } from "../../../../chat/roles.ts";
import { messageMarkSchema, outboundMessageFields } from "../../../../chat/schemas.ts";
import type { ConsoleMessage, ShownFile } from "../../conversations/console-message.ts";
import type { ThreadSummary } from "../../conversations/conversations.ts";
import type { ConsoleStatus, SignedIn } from "../../services.ts";
import { problem, time } from "./answers.ts";
import { questionLine, threadLine } from "./threads.ts";

const signedIn: z.ZodType<SignedIn> = z.strictObject({
  ...{ id: z.string(), name: z.string(), role: z.literal(["operator", "member", "viewer"]) },
  may: z.array(z.literal(acts)),
  byCookie: z.boolean(),
  signOutAt: z
    .string()
    .exactOptional()
    .describe("where a browser goes once it is signed out here, to be so at its provider"),
});

export const status: z.ZodType<ConsoleStatus & { connects: boolean; me: SignedIn }> = z.strictObject({
  model: z.string().describe("provider/model"),
  demo: z.boolean(),
  sandbox: z.strictObject({ ok: z.boolean(), summary: z.string(), problems: z.array(problem) }),
  redis: z.literal(["url", "system", "embedded"]),
  adapters: z.array(z.string()),
  connects: z.boolean().describe("whether whoever asks may go through the set-up here"),
  me: signedIn,
});

export const threadSummary: z.ZodType<ThreadSummary> = z
  .strictObject({
    ...{ id: z.string(), title: z.string(), activeAt: time },
    archived: z.literal(true).exactOptional(),
    state: messageMarkSchema.exactOptional(),
    paused: z.literal(true).exactOptional(),
  })
  .meta({ id: "ThreadSummary" });

const basis = {
  ...{ id: z.string(), at: time },
  place: z.number().describe("orders the messages of a thread; there are gaps"),
  mark: messageMarkSchema.exactOptional(),
  paused: z.literal(true).exactOptional().describe("the work on it waits for people"),
  ahead: z.number().exactOptional(),
};

const shownFile: z.ZodType<ShownFile> = z
  .strictObject({ id: z.string(), name: z.string(), bytes: z.number() })
  .describe("the file that is to be read with it, which is a message of its own with that id");

const consoleMessage: z.ZodType<ConsoleMessage> = z
  .discriminatedUnion("kind", [
    z.strictObject({
      ...{ ...basis, kind: z.literal("person"), name: z.string(), text: z.string() },
      files: z.array(z.string()).exactOptional(),
      pictures: z.array(z.string().nullable()).exactOptional(),
    }),
    z.strictObject({ ...basis, kind: z.literal("file"), name: z.string(), bytes: z.number() }),
    z.strictObject({ ...basis, ...outboundMessageFields, shown: shownFile.exactOptional() }),
  ])
  .meta({ id: "ConsoleMessage" });

/** Of the stream of the console's threads; every stream tells `needs` as well. */
export const consoleEvents = {
  threads: z.array(threadSummary),
  thread: threadSummary,
  gone: z.string(),
  conversation: z.strictObject({
    thread: threadSummary.nullable(),
    messages: z.array(consoleMessage),
    now: time,
  }),
  message: consoleMessage,
  removed: z.string(),
};

export const threadDetails = z.strictObject({
  line: threadLine,
  questions: z.array(questionLine).describe("what is open there"),
  messages: z.array(consoleMessage).describe("of a thread of the console, in order; else none"),
});
