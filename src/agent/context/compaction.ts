import type { AgentEvent } from "../events.ts";
import type { JournalReader } from "../journal/journal.ts";
import type { Message } from "../messages.ts";
import { addUsage, type LanguageModel, noUsage, type Usage } from "../model.ts";
import { findEntries } from "./intents.ts";
import { createLearntWindows, type LearntWindows } from "./learnt-windows.ts";
import { collectLoaded, fitLoaded, holdsLoaded } from "./loaded.ts";
import { countStepsSinceSummary, findStepStart, measureTail } from "./measure-tail.ts";
import { summariseOldest } from "./pieces.ts";
import { trimResults } from "./shorten.ts";
import type { TokenCounter } from "./tokens.ts";

/** When and how far a conversation is made smaller. Shares are of what prompt and tools leave of the usable window. */
export interface CompactionPolicy {
  /** A request larger than this share is made smaller. Exactly this share is not. */
  startAt: number;
  /** What compaction aims for, so that it does not come again with the next message. */
  aimFor: number;
  /** Rounds (a person's message and all up to the next) that stay verbatim when they fit. */
  retainRounds: number;
  /** Steps that stay verbatim even when their round does not fit. */
  retainSteps: number;
}

const defaultCompactionPolicy: CompactionPolicy = {
  startAt: 0.8,
  aimFor: 0.5,
  retainRounds: 10,
  retainSteps: 2,
};

/**
 * Keeps the requests of one model within its window. Its model may hand a call on to a fallback: sizes are then
 * measured by that one.
 */
export interface ContextWindow {
  /** Whether a request with these messages needs no compaction; cheap, for each step. `fixed`: see `compactToFit`. */
  fits(messages: readonly Message[], fixed: string): boolean;
  /**
   * Returns the messages to send, made smaller if they have to be. Every change is an event that must be stored
   * (`trim`, `summary`). `tooLarge` when no strategy helped. When nothing had to be done it is the same
   * array: see {@link TokenCounter.countMessages} for what may be done with it.
   *
   * @param fixed text that goes with every request: system prompt and tool definitions
   * @param meter see `Turn`
   * @param journal where people's messages stand, so that what is left out of them can be opened
   * @param force people asked for it: compact although the size does not, and however short ago that was
   */
  compactToFit(
    messages: readonly Message[],
    options: {
      fixed: string;
      force: boolean;
      meter?: (model: LanguageModel) => LanguageModel;
      journal?: JournalReader;
      signal: AbortSignal;
    },
  ): AsyncGenerator<AgentEvent, { messages: readonly Message[]; usage: Usage; tooLarge: boolean }>;
  /**
   * Corrects the estimate by what the service counted for these messages.
   *
   * @param model id of the model that took them
   */
  learn(messages: readonly Message[], fixed: string, usage: Usage, model: string): void;
  /**
   * Learns from a refusal for length how large the window really is, for the requests from here on.
   *
   * @param detail the service's own words, which may name its window
   * @param model id of the model that refused; default: the one that is to serve
   */
  learnRefusal(messages: readonly Message[], fixed: string, detail: string, model?: string): void;
  /** What the model takes of a prompt, in tokens. */
  measureUsable(): number;
  /** The tokens of a text that goes with many requests. */
  countFixed(text: string): number;
  /** The estimated size of a request, in tokens. */
  countTokens(messages: readonly Message[], fixed: string): number;
  /** Counts a message once, for storing with it. */
  measure<M extends Message>(message: M): M;
}

/** A strategy that frees less than this share did not help. */
const worthwhile = 0.2;

/** Shares of what compaction aims for: the newest messages, verbatim; people's requests; what a model may write. */
const tailShare = 0.5;
const intentShare = 0.3;
const summaryShare = 1 / 3;
const forcedIntentShare = 0.6;

/** Between two summaries that a model writes lie at least so many steps, whatever the window; results are cut instead. */
const stepsBetweenSummaries = 8;

/** Results smaller than this stay when results are trimmed, in tokens. */
const largeResults = 150;

/** What a request may take, in the service's tokens. */
interface Room {
  /** The largest prompt. */
  usable: number;
  /** What prompt and tools take of it. */
  base: number;
  /** Where compaction begins. */
  limit: number;
  /** What is left for messages. */
  room: number;
  /** What compaction aims for in messages. */
  target: number;
}

function divideWindow(usable: number, base: number, policy: CompactionPolicy): Room {
  // What compaction cannot make smaller does not count towards what it aims for.
  const room = Math.max(0, usable - base);
  return { usable, base, limit: usable - room * (1 - policy.startAt), room, target: room * policy.aimFor };
}

export function createContextWindow(options: {
  model: LanguageModel;
  counter: TokenCounter;
  /** Writes the summaries. Default: the model itself. */
  summariser?: LanguageModel;
  policy?: Partial<CompactionPolicy>;
  /** Default: what this window alone learns. */
  learnt?: LearntWindows;
}): ContextWindow {
  const { model, counter, summariser = model, learnt = createLearntWindows() } = options;
  const policy = { ...defaultCompactionPolicy, ...options.policy };
  const findServing = (of = model): LanguageModel => of.serving?.() ?? of;
  const countPlain = (messages: readonly Message[], fixed: string) =>
    counter.countFixed(fixed) + counter.countMessages(messages);
  const countTokens = (messages: readonly Message[], fixed: string) =>
    Math.ceil(countPlain(messages, fixed) * learnt.correction(findServing()));
  const measureUsable = () => learnt.measureUsable(findServing());
  const countFixed = (text: string) => Math.ceil(counter.countFixed(text) * learnt.correction(findServing()));
  const measureRoom = (fixed: string) => divideWindow(measureUsable(), countFixed(fixed), policy);

  return {
    fits: (messages, fixed) => countTokens(messages, fixed) <= measureRoom(fixed).limit,

    async *compactToFit(messages, { fixed, force, meter = (writer) => writer, journal, signal }) {
      const { usable, base, limit, room, target: most } = measureRoom(fixed);
      const before = countTokens(messages, fixed);
      let usage = noUsage;
      const isTooLarge = (size: number) => size > usable && size >= learnt.measureRefused(findServing());
      if ((before <= limit && !force) || most === 0) return { messages, usage, tooLarge: isTooLarge(before) };

      let current = [...messages];
      let entries: Map<string, number> | undefined;
      const correction = learnt.correction(findServing());
      const measure = () => countTokens(current, fixed);
      const target = force ? Math.min(most, (before - base) * policy.aimFor) : most;
      const mayPay = force || countStepsSinceSummary(messages) >= stepsBetweenSummaries;

      const isEnough = () => {
        const size = measure();
        const freed = (before - size) / (before - base);
        return size <= base + target || (!force && size <= limit && freed >= worthwhile);
      };

      const trim = function* (keepLast: number, excess: number): Generator<AgentEvent> {
        const callIds = findLargeResults(current, keepLast, excess / correction, room / correction, counter);
        if (callIds.length === 0) return;
        const size = measure();
        current = trimResults(current, new Set(callIds));
        yield { type: "trim", callIds, before: size, after: measure() };
      };

      const summarise = async function* (
        keep: number,
        isPaid: boolean,
        intents = most * intentShare,
      ): AsyncGenerator<AgentEvent> {
        const writer = findServing(summariser);
        entries ??= await findEntries(messages, journal);
        const summarised = yield* summariseOldest(current, keep, {
          ...(isPaid && { writer: meter(summariser) }),
          limits: {
            tokens: Math.floor((target * summaryShare) / correction),
            intents: Math.floor(intents / correction),
            entries,
            room: room / correction,
            window: learnt.measureRefused(writer) / Math.max(1, learnt.correction(writer)),
            counter,
          },
          countTokens: (list) => countTokens(list, fixed),
          onOverflow: (size, { detail, model: refusedBy = writer.id }) =>
            learnt.learnRefusal({ ...writer, id: refusedBy }, size * learnt.correction(writer), detail),
          signal,
        });
        current = summarised.messages;
        usage = addUsage(usage, summarised.usage);
      };

      const payForSummary = async function* (): AsyncGenerator<AgentEvent> {
        const keep = measureTail(
          current,
          policy,
          (tail) => counter.countMessages(tail) * correction <= target * tailShare,
        );
        const size = measure();
        yield* summarise(keep, true);
        // Whoever asks to compact a conversation of hardly anything but requests wants those shortened.
        if (force && current[0]?.role !== "summary" && measure() === size)
          yield* summarise(keep, true, target * forcedIntentShare);
      };

      const squeeze = async function* (): AsyncGenerator<AgentEvent> {
        // The last steps alone are too large: their results must go too.
        yield* trim(0, Infinity);
        // What is left is then replaced by facts that need no model: the last steps stay if they can.
        for (const keep of [measureTail(current, { ...policy, retainRounds: 0 }, () => false), 0])
          if (measure() > usable) yield* summarise(keep, false);
      };

      yield* trim(policy.retainSteps, before - base - target);
      if (isEnough() || (!mayPay && measure() <= usable))
        return { messages: current, usage, tooLarge: false };

      if (mayPay) yield* payForSummary();
      if (measure() <= (mayPay ? limit : usable)) return { messages: current, usage, tooLarge: false };

      yield* squeeze();
      return { messages: current, usage, tooLarge: isTooLarge(measure()) };
    },

    learn: (messages, fixed, usage, id) => learnt.learnAccepted({ id }, countPlain(messages, fixed), usage),

    learnRefusal: (messages, fixed, detail, id = findServing().id) =>
      learnt.learnRefusal({ ...findServing(), id }, countTokens(messages, fixed), detail),

    ...{ measureUsable, countFixed, countTokens, measure: counter.measure },
  };
}

/**
 * Calls whose results are large, oldest first, until `excess` tokens are freed. The last `keepLast` steps, the plan, and
 * the skills and found tools that fit into their share of the `room` are left alone.
 */
function findLargeResults(
  messages: readonly Message[],
  keepLast: number,
  excess: number,
  room: number,
  counter: TokenCounter,
): string[] {
  const until = findStepStart(messages, keepLast);
  const loaded = new Set(fitLoaded(collectLoaded(messages), room, counter).kept);
  const callIds: string[] = [];
  let freed = 0;
  for (const message of messages.slice(0, until)) {
    if (freed >= excess) break;
    if (message.role !== "tool" || message.name === "todo") continue;
    if (holdsLoaded(message, loaded)) continue;
    const tokens = counter.countMessage(message);
    if (tokens < largeResults) continue;
    freed += tokens - largeResults / 2;
    callIds.push(message.callId);
  }
  return callIds;
}
