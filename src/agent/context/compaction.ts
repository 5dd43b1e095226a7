import type { AgentEvent } from "../events.ts";
import { readRefusedWindow } from "./refused-window.ts";
import { trimResults } from "./shorten.ts";
import { isFromPerson, type Message } from "../messages.ts";
import { addUsage, type LanguageModel, noUsage, type Usage } from "../model.ts";
import { summariseOldest } from "./pieces.ts";
import type { TokenCounter } from "./tokens.ts";

/** When and how far a conversation is made smaller. Shares are of the model's usable window. */
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

/** Keeps the requests of one model within its window. Share one among all turns: what it learns about sizes holds for the model. */
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
   * @param force compact although the size does not ask for it (`compact`, an overflow told by the service)
   */
  compactToFit(
    messages: readonly Message[],
    options: {
      fixed: string;
      force: boolean;
      meter?: (model: LanguageModel) => LanguageModel;
      signal: AbortSignal;
    },
  ): AsyncGenerator<AgentEvent, { messages: readonly Message[]; usage: Usage; tooLarge: boolean }>;
  /** Corrects the estimate by what the service counted for these messages. */
  learn(messages: readonly Message[], fixed: string, usage: Usage): void;
  /**
   * Learns from a refusal for length how large the window really is, for all requests from here on.
   *
   * @param detail the service's own words, which may name its window
   */
  learnRefusal(messages: readonly Message[], fixed: string, detail: string): void;
  /** The estimated size of a request, in tokens. */
  countTokens(messages: readonly Message[], fixed: string): number;
  /** Counts a message once, for storing with it. */
  measure<M extends Message>(message: M): M;
}

/** Room for the reply within the window: the model's limit, but at most this share. */
const replyShare = 0.25;

/** A strategy that frees less than this share did not help. */
const worthwhile = 0.2;

/** Share of what compaction aims for that people's requests may take. */
const intentShare = 0.3;

/** Results smaller than this stay when results are trimmed, in tokens. */
const largeResults = 150;

/** Share of a refused size that is taken for usable where the service does not name its window. */
const refusedShare = 0.9;

/** No refusal makes us believe in a smaller window, in tokens: it is then about something else than length. */
const smallestWindow = 2_000;

/** How far a service's count may differ from ours before we distrust it. */
const correctionBounds = { least: 0.5, most: 3 };

export function createContextWindow(options: {
  model: LanguageModel;
  counter: TokenCounter;
  /** Writes the summaries. Default: the model itself. */
  summariser?: LanguageModel;
  policy?: Partial<CompactionPolicy>;
}): ContextWindow {
  const { model, counter, summariser = model } = options;
  const policy = { ...defaultCompactionPolicy, ...options.policy };
  const { contextTokens, maxOutputTokens } = model.limits;
  let window = contextTokens;
  let refused = Infinity;
  const measureUsable = () =>
    Math.min(window - Math.min(maxOutputTokens, Math.floor(window * replyShare)), refused * refusedShare);
  let correction = 1;
  const countTokens = (messages: readonly Message[], fixed: string) =>
    Math.ceil((counter.countFixed(fixed) + counter.countMessages(messages)) * correction);

  return {
    fits: (messages, fixed) => countTokens(messages, fixed) <= measureUsable() * policy.startAt,

    async *compactToFit(messages, { fixed, force, meter = (writer) => writer, signal }) {
      const usable = measureUsable();
      const limit = usable * policy.startAt;
      const before = countTokens(messages, fixed);
      const target = Math.min(usable, force ? before : Infinity) * policy.aimFor;
      let usage = noUsage;
      if (before <= limit && !force) return { messages, usage, tooLarge: false };
      let current = [...messages];

      const isEnough = () => {
        const size = countTokens(current, fixed);
        return size <= target || (!force && size <= limit && size <= before * (1 - worthwhile));
      };

      const callIds = findLargeResults(
        current,
        policy.retainSteps,
        counter,
        Math.ceil(before - target) / correction,
      );
      if (callIds.length > 0) {
        current = trimResults(current, new Set(callIds));
        yield { type: "trim", callIds, before, after: countTokens(current, fixed) };
        if (isEnough()) return { messages: current, usage, tooLarge: false };
      }

      const keep = measureTail(
        current,
        policy,
        (tail) => counter.countMessages(tail) * correction <= target / 2,
      );
      const summarised = yield* summariseOldest(current, keep, {
        writer: meter(summariser),
        limits: {
          tokens: Math.floor(target / 3 / correction),
          intents: Math.floor((usable - counter.countFixed(fixed)) * policy.aimFor * intentShare),
          // What was learnt of this model says nothing of another one.
          window:
            summariser.id === model.id
              ? Math.min(window, refused) / Math.max(1, correction)
              : summariser.limits.contextTokens,
          counter,
        },
        countTokens: (list) => countTokens(list, fixed),
        signal,
      });
      current = summarised.messages;
      usage = addUsage(usage, summarised.usage);
      if (countTokens(current, fixed) <= limit) return { messages: current, usage, tooLarge: false };

      // The last steps alone are too large: their results must go too.
      const rest = findLargeResults(current, 0, counter, Infinity);
      if (rest.length > 0) {
        const size = countTokens(current, fixed);
        current = trimResults(current, new Set(rest));
        yield { type: "trim", callIds: rest, before: size, after: countTokens(current, fixed) };
      }
      return { messages: current, usage, tooLarge: countTokens(current, fixed) > usable };
    },

    learn(messages, fixed, usage) {
      const counted = counter.countFixed(fixed) + counter.countMessages(messages);
      const told = usage.input + usage.cacheRead + usage.cacheWrite;
      if (counted === 0 || told === 0) return;
      correction = Math.min(correctionBounds.most, Math.max(correctionBounds.least, told / counted));
    },

    learnRefusal(messages, fixed, detail) {
      const size = countTokens(messages, fixed);
      const told = readRefusedWindow(detail);
      if (told !== undefined && told >= smallestWindow) window = Math.min(window, told);
      // Where the service names no window, or counts so differently that it would refuse the same size again.
      if (size <= measureUsable()) refused = Math.min(refused, Math.max(size, smallestWindow));
    },

    countTokens,

    measure: counter.measure,
  };
}

/** Tools whose results say how to go on, and are not cut. */
const keptWhole: ReadonlySet<string> = new Set(["get_skill", "todo"]);

/** Calls whose results are large, oldest first, until `excess` tokens are freed. The last `keepLast` steps are left alone. */
function findLargeResults(
  messages: readonly Message[],
  keepLast: number,
  counter: TokenCounter,
  excess: number,
): string[] {
  const until = findStepStart(messages, keepLast);
  const callIds: string[] = [];
  let freed = 0;
  for (const message of messages.slice(0, until)) {
    if (freed >= excess) break;
    if (message.role !== "tool" || keptWhole.has(message.name)) continue;
    const tokens = counter.countMessage(message);
    if (tokens < largeResults) continue;
    freed += tokens - largeResults / 2;
    callIds.push(message.callId);
  }
  return callIds;
}

/** Where the last `steps` steps begin, or as many as there are. */
function findStepStart(messages: readonly Message[], steps: number): number {
  let start = messages.length;
  let left = steps;
  for (let at = messages.length - 1; at >= 0 && left > 0; at -= 1) {
    if (messages[at]?.role !== "assistant") continue;
    start = at;
    left -= 1;
  }
  return start;
}

/**
 * How many messages stay verbatim: as many of the last rounds as `fits` allows, else the last steps. It never
 * starts with a tool's result, whose call would be lost.
 */
function measureTail(
  messages: readonly Message[],
  policy: CompactionPolicy,
  fits: (tail: readonly Message[]) => boolean,
): number {
  // What is not answered yet stays whole, however large.
  const asked = messages.findLastIndex(isFromPerson);
  const unanswered = asked >= 0 && messages.slice(asked).every(({ role }) => role === "user");
  const steps = findStepStart(messages, policy.retainSteps);
  let best = messages.length - (unanswered ? Math.min(asked, steps) : steps);
  let rounds = 0;
  for (let at = messages.length - 1; at > 0 && rounds < policy.retainRounds; at -= 1) {
    const message = messages[at];
    if (!message || !isFromPerson(message)) continue;
    const tail = messages.slice(at);
    if (!fits(tail)) break;
    rounds += 1;
    best = Math.max(best, tail.length);
  }
  return best;
}
