import { z } from "zod";
import type { Fields } from "../agent/journal/schemas.ts";
import type {
  ActionButton,
  CallList,
  GrowingText,
  MessageMark,
  OutboundMessage,
  ShownCall,
} from "./outbound.ts";
import type { MessageRef } from "./threads.ts";

/** What chat's types look like where they were stored: their first version. See `agent/journal/schemas.ts`. */

const optional = z.exactOptional;

export const messageMarkSchema = z.literal([
  "taken",
  "waiting",
  "answered",
  "stopped",
  "failed",
]) satisfies z.ZodType<MessageMark>;

export const messageRefSchema: z.ZodType<MessageRef> = z.looseObject({
  platform: z.string(),
  workspace: z.string(),
  channel: z.string(),
  message: z.string(),
} satisfies Fields<MessageRef>);

const shownCall = z.looseObject({
  id: z.string(),
  name: z.string(),
  about: z.string(),
  title: optional(z.string()),
  state: z.literal(["ok", "error", "partial", "stopped", "unknown", "running", "pending"]),
  notRun: optional(z.literal(["denied", "undecided"])),
  result: optional(z.string()),
  callId: optional(z.string()),
  startedAt: optional(z.number()),
  tookMs: optional(z.number()),
  output: optional(z.string()),
} satisfies Fields<ShownCall>);

const callList = z.looseObject({
  above: z.string(),
  below: z.string(),
  turn: optional(z.string()),
  earlier: optional(z.number()),
  title: z.string(),
  items: z.array(shownCall),
} satisfies Fields<CallList>);

const actionButton = z.looseObject({
  id: z.string(),
  label: z.string(),
  style: z.literal(["plain", "primary", "danger"]),
  rates: optional(z.literal(["good", "bad"])),
  asksFor: optional(z.string()),
  inputs: optional(z.number()),
} satisfies Fields<ActionButton>);

/** For those who store it with more. */
export const outboundMessageFields = {
  markdown: z.string(),
  kind: z.literal(["progress", "question", "answer", "notice", "receipt"]),
  footer: optional(z.string()),
  stoppable: optional(z.boolean()),
  calls: optional(callList),
  growing: optional(
    z.looseObject({ text: z.string(), reader: z.string(), title: z.string() } satisfies Fields<GrowingText>),
  ),
  actions: optional(z.array(actionButton)),
  mentions: optional(z.array(z.string())),
  file: optional(z.looseObject({ name: z.string(), text: z.string() })),
  trace: optional(z.string()),
} satisfies Fields<OutboundMessage>;

export const outboundMessageSchema: z.ZodType<OutboundMessage> = z.looseObject(outboundMessageFields);
