import type { ToolStatus } from "../agent/messages.ts";

/** The state of a person's message, shown as a reaction where the platform has them. */
export type MessageMark = "taken" | "waiting" | "answered" | "stopped" | "failed";

export interface MarkOptions {
  /** Of a message that waits: how many are worked on before it. */
  place?: number;
  /** There is no earlier mark. */
  isFirst?: boolean;
}

export interface OutboundMessage {
  /** CommonMark with tables and fenced code. The surface translates and splits; it never interprets mentions. */
  markdown: string;
  kind: "progress" | "question" | "answer" | "notice" | "receipt";
  /** Small print under the message. */
  footer?: string;
  /** Whether a Stop button belongs to it. */
  stoppable?: boolean;
  /** The same with its tool calls apart, for platforms that have more than text to show them. */
  calls?: CallList;
  /** Buttons, at most five; an edit without them takes them away. */
  actions?: ActionButton[];
  /** W3C `traceparent` of the turn that says it, where traces are taken; no surface shows it. */
  trace?: string;
}

/** Tool calls, none as long as there is only a plan, and the Markdown that stands above and below them. */
export interface CallList {
  above: string;
  below: string;
  /** What the calls are together; plain text, as all that is said of them. */
  title: string;
  items: ShownCall[];
}

export interface ShownCall {
  /** Unique in its message, and the same in every edit of it. */
  id: string;
  name: string;
  /** The argument that tells most, on one line; may be empty. */
  about: string;
  /** `pending`: it waits for a decision. */
  state: ToolStatus | "running" | "pending";
  /** As much of its result as is kept, where people want to see it: to be folded away where that is possible. */
  result?: string;
}

/** Pressing it brings an `action` event. */
export interface ActionButton {
  /** At most 80 characters; opaque to adapters. */
  id: string;
  label: string;
  style: "plain" | "primary" | "danger";
  /** Asks the person for a sentence first, where the platform can; the text comes with the event. */
  asksFor?: string;
}
