import type { NotRun, ToolStatus } from "../agent/messages.ts";
import type { InputField } from "../agent/server-input.ts";

/** The state of a person's message, shown as a reaction where the platform has them. */
export type MessageMark = "taken" | "waiting" | "answered" | "stopped" | "failed";

/** What people see of it. `paused`: of a message that is taken, or answered, where the work waits for people to go on. */
export type ShownMark = MessageMark | "paused";

export interface MarkOptions {
  /** The work on it waits for people: for a decision, or for somebody who lets it go on. */
  paused?: boolean;
  /** For a message that waits: how many are ahead of it. */
  place?: number;
  /** There is no earlier mark. */
  isFirst?: boolean;
}

/**
 * What Heddle says in a thread, in one form for all platforms. The surface translates it into what its platform shows.
 *
 * @example
 * const message: OutboundMessage = {
 *   kind: "answer",
 *   markdown: "The build fails because **lint** does:\n```\nsrc/a.ts:1 unused variable\n```",
 *   footer: "3 steps · 12 s",
 *   actions: [{ id: "rate:t1:liked", label: "👍", style: "plain" }],
 * };
 */
export interface OutboundMessage {
  /**
   * CommonMark with tables and fenced code, of any length. The surface translates and splits it, and must keep every
   * mention in it inert: what a model writes must never notify people.
   */
  markdown: string;
  kind: "progress" | "question" | "answer" | "notice" | "receipt";
  /** Small print under the message, as plain text; cut where it is too long for the platform. */
  footer?: string;
  /** Whether it has a Stop button, whose press brings a `stop` event. */
  stoppable?: boolean;
  /** The same content with its tool calls separate, for platforms that have more than text to show them. */
  calls?: CallList;
  /** The same while it grows, for platforms that can stream it: then only what is new is sent. */
  growing?: GrowingText;
  /**
   * Ids of people to call, in words of Heddle's own: the only mentions that notify anybody, and only when the message is
   * new. A question asks them to decide. What is no id of the platform is left out.
   */
  mentions?: string[];
  /** Goes with a new message, to be read before its buttons are pressed. */
  file?: { name: string; text: string };
  /** Buttons, at most five; an edit without them removes them. */
  actions?: ActionButton[];
  /** W3C `traceparent` of the turn that says it, where traces are recorded; no surface shows it. */
  trace?: string;
}

/** What a model has written so far: text that stays, for it can only be added to. */
export interface GrowingText {
  /** All of it, in CommonMark. It never changes but at its end. */
  text: string;
  /** Id of the person who waits for it. */
  reader: string;
  /** One line about how far the work is; it replaces the earlier one. */
  title: string;
}

/** Tool calls, none while there is only a plan, and the Markdown above and below them. */
export interface CallList {
  above: string;
  below: string;
  /** The turn whose calls these are, for platforms that can look up more of them than is here. */
  turn?: string;
  /** How many calls are left out before these. */
  earlier?: number;
  /** The heading of the calls. Like all other text about them it is plain text. */
  title: string;
  items: ShownCall[];
}

export interface ShownCall {
  /** Unique in its message, and the same in every edit of it. */
  id: string;
  name: string;
  /** The primary argument, on one line; may be empty. */
  about: string;
  /** What the model says that the call is for: the heading of the call where the call itself stands beside it. */
  title?: string;
  /** `pending`: it waits for a decision. */
  state: ToolStatus | "running" | "pending";
  /** With `error`: nothing has failed, the call was never run. */
  notRun?: NotRun;
  /** The beginning of its result, where people want to see it: to be collapsed where that is possible. */
  result?: string;
  /** What the model's service calls it; not always unique in a turn. */
  callId?: string;
  /** Since when it runs, ms since the epoch. */
  startedAt?: number;
  /** How long it ran, ms. */
  tookMs?: number;
  /** The last lines that it has printed, while it runs. */
  output?: string;
}

/** A button. Pressing it brings an `action` event with its id. */
export interface ActionButton {
  /** At most 80 characters; opaque to adapters. */
  id: string;
  label: string;
  style: "plain" | "primary" | "danger";
  /** It says how good the answer above is, for platforms that have a way of their own to ask. */
  rates?: "good" | "bad";
  /** A question that the person answers first, where the platform can ask; the text comes with the event. */
  asksFor?: string;
  /**
   * So many inputs has the form that comes as the result of a press, where the platform can draw them; elsewhere
   * `asksFor` asks for all of it as one text.
   */
  inputs?: number;
}

/** Inputs that a press asks for: what is written into them comes with an `action` event of the same button. */
export interface Form {
  /** Plain text; a surface cuts it. */
  title: string;
  fields: InputField[];
}

/** A list of which one person chooses one: it brings an `action` event with the chosen id. */
export interface ChoiceMenu {
  /** What is chosen, e.g. “Take out of the queue…”. */
  label: string;
  /** `id`: at most 100 characters, opaque to adapters. `label` and `about` are plain text; a surface cuts them. */
  options: { id: string; label: string; about?: string }[];
}

/** The message where the platform has refused its file. */
export function withoutFile(message: OutboundMessage): OutboundMessage {
  const { file, footer, ...rest } = message;
  const lost = file && `${file.name} could not be attached here; the console shows it`;
  const small = [lost, footer].filter(Boolean).join(" · ");
  return { ...rest, ...(small && { footer: small }) };
}
