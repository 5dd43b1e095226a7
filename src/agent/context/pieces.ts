import type { AgentEvent } from "../events.ts";
import type { Message, SummaryMessage } from "../messages.ts";
import { addUsage, type LanguageModel, ModelError, noUsage, type Usage } from "../model.ts";
import { countSteps, countStepsSinceSummary } from "./measure-tail.ts";
import { replaceSummarized } from "./shorten.ts";
import { cutToTokens, extractState } from "./summary-text.ts";
import {
  createSummaryMessage,
  readShare,
  summarise,
  type SummaryLimits,
  summarizeWithoutModel,
} from "./summary.ts";
import { estimateTranscribed } from "./transcript.ts";

/** Messages that would take up to so many of the writer's windows are summarised by one call, each of them in short. */
const oneCallWindows = 3;

/** Beyond that a piece is so large, in windows; less when its messages are short ones, which cannot be cut further. */
const pieceWindows = 2;

/** Share of the writer's window for a piece, beside the summary so far. */
const pieceShare = 0.4;

/** The most calls, and so the most pieces: what is older than these is not read. */
const mostCalls = 12;

/** How often the writer's window is taken for half as large, when its service says that a piece is too long. */
const mostHalvings = 3;

/** Lengths to which a piece's messages may have to be cut, in characters: the first with which the pieces are few enough. */
const pieceChars = [120, 60, 40];

/** A summary is worth a call, and a lone one is fitted anew, only where that leaves at most this share. */
const worthwhile = 0.8;

/** Successive messages: how many, and whether a model reads them. */
interface Piece {
  length: number;
  isRead: boolean;
}

type Written = { kind: "written"; text: string; unread: number; usage: Usage };
type Attempt = Written | { kind: "useless"; usage: Usage } | { kind: "failed"; error: ModelError };

/**
 * Replaces all but the last `keep` messages by a summary. A history much longer than the writer's window is summarised
 * in pieces, oldest first, each together with the summary so far: each is an event of its own, so that what is done
 * stays done when the turn ends in between. Messages that no model reads are counted in the summary.
 *
 * Makes nothing where no summary would be smaller. Throws when the signal is aborted.
 */
export async function* summariseOldest(
  messages: Message[],
  keep: number,
  options: {
    /** Default: none, only facts that need no model. */
    writer?: LanguageModel;
    limits: SummaryLimits;
    countTokens(messages: readonly Message[]): number;
    /** Told when a service refuses to read so many tokens, as the counter has them. */
    onOverflow(tokens: number, error: ModelError): void;
    signal: AbortSignal;
  },
): AsyncGenerator<AgentEvent, { messages: Message[]; usage: Usage }> {
  const { writer, countTokens, onOverflow, signal } = options;
  let { limits } = options;
  let current = messages;
  let size = countTokens(current);
  let total = noUsage;
  let calls = 0;
  let halvings = 0;
  let stepsBefore = countStepsSinceSummary(messages);
  const plan = () => {
    const head = current.slice(0, current.length - keep);
    return writer ? planPieces(head, limits, mostCalls - calls) : planUnread(head);
  };
  let pieces = plan();
  if (pieces.length > 1) yield { type: "notice", text: describePlan(pieces) };
  for (let piece = pieces.shift(); piece; piece = pieces.shift()) {
    const head = current.slice(0, countEarlier(current) + piece.length);
    const reader = piece.isRead && canShrink(head, limits) ? writer : undefined;
    if (reader) {
      calls += 1;
      stepsBefore = 0;
    }
    const attempt = reader ? await trySummary(reader, head, limits, signal) : useless;
    const isFailed = attempt.kind === "failed";
    if (isOverflow(attempt) && halvings < mostHalvings && calls < mostCalls) {
      onOverflow(limits.window * readShare, attempt.error);
      halvings += 1;
      limits = { ...limits, window: limits.window / 2 };
      pieces = plan();
      continue;
    }
    const usage = isFailed ? noUsage : attempt.usage;
    total = addUsage(total, usage);
    // A service that is down, after its own retries, would be waited for with each of the other pieces.
    const kept = isFailed ? keep : current.length - head.length;
    const behind = countSteps(current.slice(current.length - kept));
    const replaced = current.slice(0, current.length - kept);
    const message = limits.counter.measure(composeSummary(replaced, attempt, stepsBefore - behind, limits));
    const next = replaceSummarized(message, current, kept);
    const after = countTokens(next);
    if (after >= (piece.length > 0 ? size : size * worthwhile)) break;
    yield { type: "summary", message, keep: kept, usage, before: size, after };
    current = next;
    size = after;
    if (isFailed) break;
  }
  return { messages: current, usage: total };
}

/** What an attempt has come to: where no model has written anything of use, facts that need none. */
function composeSummary(
  messages: readonly Message[],
  attempt: Attempt,
  stepsBefore: number,
  limits: SummaryLimits,
): SummaryMessage {
  const create = (state: string, unread: number): SummaryMessage => ({
    ...createSummaryMessage(messages, state, unread, limits),
    ...(Number.isFinite(stepsBefore) && { stepsBefore }),
  });
  if (attempt.kind === "written") return create(attempt.text, attempt.unread);
  const unread = messages.length - countEarlier(messages);
  const [first] = messages;
  const isLone = unread === 0 && first?.role === "summary";
  const state = isLone ? extractState(first.text) : summarizeWithoutModel(messages, limits);
  return create(state, unread);
}

function isOverflow(attempt: Attempt): attempt is Extract<Attempt, { kind: "failed" }> {
  return attempt.kind === "failed" && attempt.error.kind === "overflow";
}

/** Whether a summary of these messages can be much smaller: otherwise none is paid for. */
function canShrink(messages: readonly Message[], limits: SummaryLimits): boolean {
  return countEmpty(messages, limits) < limits.counter.countMessages(messages) * worthwhile;
}

/** What a summary takes besides the state of the work. */
function countEmpty(messages: readonly Message[], limits: SummaryLimits): number {
  return limits.counter.countMessage(createSummaryMessage(messages, "", 0, limits));
}

function planUnread(messages: readonly Message[]): Piece[] {
  return messages.length > 0 ? [{ length: messages.length - countEarlier(messages), isRead: false }] : [];
}

const useless: Attempt = { kind: "useless", usage: noUsage };

async function trySummary(
  writer: LanguageModel,
  messages: readonly Message[],
  limits: SummaryLimits,
  signal: AbortSignal,
): Promise<Attempt> {
  signal.throwIfAborted();
  try {
    const { text, unread, usage } = await summarise(writer, messages, limits, signal);
    signal.throwIfAborted();
    const { counter, tokens } = limits;
    // One that is no shorter than what it stands for is no summary.
    const isUseful = text && counter.count(text) < counter.countMessages(messages);
    if (!isUseful) return { kind: "useless", usage };
    // One that makes the conversation no smaller would be paid for and thrown away.
    const room = counter.countMessages(messages) - countEmpty(messages, limits);
    const cut = cutToTokens(text, Math.min(Math.max(256, tokens), Math.floor(room * worthwhile)), counter);
    return { kind: "written", text: cut, unread, usage };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ModelError)) throw error;
    return { kind: "failed", error };
  }
}

/** How many messages an earlier summary is: it comes first, and belongs to no piece. */
function countEarlier(messages: readonly Message[]): number {
  return messages[0]?.role === "summary" ? 1 : 0;
}

function planPieces(
  head: readonly Message[],
  { window, counter }: SummaryLimits,
  mostPieces: number,
): Piece[] {
  const messages = head.slice(countEarlier(head));
  // A model would find nothing new in a lone summary.
  if (messages.length === 0) return head.length > 0 ? [{ length: 0, isRead: false }] : [];
  const whole = messages.map((message) => estimateTranscribed(message, counter));
  if (whole.reduce((sum, tokens) => sum + tokens, 0) <= window * oneCallWindows)
    return [{ length: messages.length, isRead: true }];

  const most = { whole: window * pieceWindows, short: window * pieceShare };
  let lengths: number[] = [];
  for (const chars of pieceChars) {
    lengths = splitIntoPieces(messages, most, (message, at) => ({
      whole: whole[at] ?? 0,
      short: estimateTranscribed(message, counter, chars),
    }));
    if (lengths.length <= mostPieces) break;
  }
  const skipped = lengths.slice(0, -mostPieces).reduce((sum, length) => sum + length, 0);
  const read = lengths.slice(-mostPieces).map((length) => ({ length, isRead: true }));
  return skipped > 0 ? [{ length: skipped, isRead: false }, ...read] : read;
}

/** What messages take of the writer's window: hardly cut, and as short as they may have to be. */
interface Sizes {
  whole: number;
  short: number;
}

/** A piece never begins with a tool's result, whose call would be lost. */
function splitIntoPieces(
  messages: readonly Message[],
  most: Sizes,
  measure: (message: Message, at: number) => Sizes,
): number[] {
  const lengths: number[] = [];
  let length = 0;
  let sum: Sizes = { whole: 0, short: 0 };
  for (const [at, message] of messages.entries()) {
    const { whole, short } = measure(message, at);
    const isFull = sum.whole + whole > most.whole || sum.short + short > most.short;
    if (isFull && length > 0 && message.role !== "tool") {
      lengths.push(length);
      length = 0;
      sum = { whole: 0, short: 0 };
    }
    length += 1;
    sum = { whole: sum.whole + whole, short: sum.short + short };
  }
  return [...lengths, length];
}

function describePlan(pieces: readonly Piece[]): string {
  const [first] = pieces;
  const skipped = first && !first.isRead ? first.length : 0;
  const text = `This conversation is far longer than the model's window: it is summarised in ${pieces.filter(({ isRead }) => isRead).length} parts.`;
  return skipped > 0
    ? `${text} The oldest ${skipped.toLocaleString("en-US")} messages are left to search_history.`
    : text;
}
