import { z } from "zod";
import { createStoredParser } from "../../../agent/text/parse-stored.ts";
import { messageMarkSchema, outboundMessageFields } from "../../../chat/schemas.ts";
import type { MessageMark, OutboundMessage } from "../../../chat/outbound.ts";

/** What the console stores and announces, and how it is read back. */

export type ConsoleContent =
  /** `files`: names of those that came with it; `pictures`: for each the id of its thumbnail, if it has one. */
  | ({ kind: "person"; name: string; text: string; files?: string[]; pictures?: (string | null)[] } & Marked)
  /** `shown`: the file that is to be read with it, kept as a message of its own with that id. */
  | (OutboundMessage & Marked & { shown?: ShownFile })
  | ({ kind: "file"; name: string; bytes: number } & Marked);

export interface ShownFile {
  id: string;
  name: string;
  bytes: number;
}

interface Marked {
  mark?: MessageMark;
  /** The work on it waits for people. Apart from `mark`, whose values an older Heddle knows all of. */
  paused?: true | undefined;
  /** Of one that waits: how many are worked on before it. */
  ahead?: number | undefined;
}

/** A message as the page gets it. `place` orders the messages of a thread; there are gaps. */
export type ConsoleMessage = { id: string; place: number; at: number } & ConsoleContent;

/** What changed: a message, or the thread's summary where there is no `message`. */
export interface ConsoleChange {
  thread: string;
  message?: string;
}

const optional = z.exactOptional;

const basis = {
  id: z.string(),
  place: z.number(),
  at: z.number(),
  mark: optional(messageMarkSchema),
  paused: optional(z.literal(true)),
  ahead: optional(z.number()),
};

const shownFile = z.looseObject({ id: z.string(), name: z.string(), bytes: z.number() });

export const parseMessage = createStoredParser<ConsoleMessage>(
  z.discriminatedUnion("kind", [
    z.looseObject({
      ...basis,
      kind: z.literal("person"),
      name: z.string(),
      text: z.string(),
      files: optional(z.array(z.string())),
      pictures: optional(z.array(z.string().nullable())),
    }),
    z.looseObject({ ...basis, ...outboundMessageFields, shown: optional(shownFile) }),
    z.looseObject({ ...basis, kind: z.literal("file"), name: z.string(), bytes: z.number() }),
  ]),
);

export const parseChange = createStoredParser<ConsoleChange>(
  z.looseObject({ thread: z.string(), message: optional(z.string()) }),
);

export const parseKeptFile = createStoredParser(
  z.looseObject({ name: z.string(), mediaType: z.string(), bytes: z.number() }),
);
