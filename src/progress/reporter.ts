import type { TurnOutcome } from "../agent/events.ts";
import type { UserMessage } from "../agent/messages.ts";
import type { MessageMark, OutboundMessage } from "../chat/outbound.ts";
import type { ChatSurface } from "../chat/surface.ts";
import { type MessageRef, parseThreadId, type ThreadId } from "../chat/threads.ts";
import type { OutboxEntry } from "../queue/outbox/contracts.ts";
import type { RateLimiter } from "../queue/outbox/rate-limit.ts";
import { platformMessageId } from "../queue/session/message-changes.ts";
import type { Verbosity } from "../queue/session/verbosity.ts";
import type { Receipt, ShownTurn, TurnDisplay } from "../queue/turns/contracts.ts";
import { isOver } from "../queue/turns/stops.ts";
import { formatCount, formatDuration, headline, renderClosing, renderPaused } from "./describe.ts";
import { createEditedMessage } from "./edited-message.ts";
import { maskMessage } from "./mask.ts";
import { renderDecision, renderQuestion } from "./question-messages.ts";
import type { LiveEvent } from "./live-event.ts";
import { createThreadStatus } from "./thread-status.ts";
import { createWorkView } from "./work-view.ts";

export interface ReporterOptions {
  surface: ChatSurface;
  thread: ThreadId;
  output: RateLimiter;
  turn: ShownTurn;
  /** `quiet` shows only how the turn ends. */
  verbosity: Verbosity;
  /** Stands above everything that the turn shows. */
  banner?: string;
  /** Whether people can say what they think of the answer. */
  asksRating?: boolean;
  onProgressPosted(ref: MessageRef): Promise<void>;
  /** See `EditedMessageOptions`. */
  overtaken(): Promise<OutboundMessage | null | undefined>;
  /** For live viewers. */
  publish(event: LiveEvent): void;
  /** Shows the state of somebody's message. */
  mark(ref: MessageRef, mark: MessageMark, signal: AbortSignal): Promise<void>;
  /** Hides secrets; applied to everything that leaves. */
  mask(text: string): string;
  onProblem(problem: string, error: unknown): void;
}

/** Under which a turn's progress message is posted and settled. */
export function progressKey(turn: string): string {
  return `${turn}:progress`;
}

/** Turns the events of one turn into what its thread shows. */
export function createReporter(options: ReporterOptions): TurnDisplay {
  const { surface, banner = "" } = options;
  const thread = parseThreadId(options.thread);
  const { turn } = options;
  const closing = new AbortController();
  const marking: Promise<void>[] = [];
  const asked: UserMessage[] = [];
  const isQuiet = options.verbosity === "quiet";
  const work = createWorkView({ banner, withResults: options.verbosity === "full", calls: turn.calls });
  let isWaiting = false;

  const status = createThreadStatus(surface, thread);
  const progress = createEditedMessage({
    surface,
    output: options.output,
    thread,
    key: progressKey(turn.id),
    known: turn.progress,
    knownSince: turn.startedAt,
    lookSince: turn.resumed ? turn.startedAt : undefined,
    onPosted: options.onProgressPosted,
    overtaken: options.overtaken,
    onProblem: options.onProblem,
  });

  /** What was scheduled is no message of the platform's. */
  const isMarked = ({ scheduled }: UserMessage) => !scheduled;

  const refOf = ({ id }: UserMessage): MessageRef => {
    const { platform, workspace, channel } = thread;
    return { platform, workspace, channel, message: platformMessageId(id) };
  };

  /** For the moment only: the mark of the end goes through the outbox. */
  const showTaken = async (ref: MessageRef) => {
    try {
      await options.mark(ref, "taken", closing.signal);
    } catch (error) {
      if (!closing.signal.aborted) options.onProblem("A message could not be marked as taken.", error);
    }
  };

  // The surface masks as well; before that, messages lie in the outbox.
  const masked = (message: OutboundMessage) => maskMessage(message, options.mask);

  const working = (line: string) => masked(work.working(line));

  const over = (outcome: TurnOutcome) => asked.filter((message) => isOver(message, outcome));

  const marks = (messages: readonly UserMessage[], state: MessageMark): Record<string, OutboxEntry> =>
    Object.fromEntries(
      messages
        .filter(isMarked)
        .map(refOf)
        .map((ref) => [`${turn.id}:mark:${ref.message}`, { do: "mark", ref, mark: state }]),
    );

  const lastMessages = (receipt: Receipt): [OutboundMessage, offer?: OutboundMessage] => {
    const [first, offer] = renderClosing(turn.id, receipt, options);
    const markdown = [banner, first.markdown].filter(Boolean).join("\n\n");
    const message = masked({ ...first, markdown });
    return offer ? [message, masked(offer)] : [message];
  };

  return {
    took(messages) {
      if (turn.resumed) status.takeOver();
      asked.push(...messages);
      for (const taken of messages.filter(isMarked)) marking.push(showTaken(refOf(taken)));
      options.publish({ type: "turn-start", turn: turn.id, messages: messages.map(({ id }) => id) });
    },
    event(event) {
      options.publish(event);
      if (event.type === "step-start") status.show("is thinking…");
      if (event.type === "tool-start") status.show(`is using ${event.call.name}…`);
      if (work.apply(event) && !isQuiet) progress.show(() => working("⏳ **Working**"));
    },
    question: (question, call) => masked(renderQuestion(question, call)),
    settled: (question, call, decision) => masked(renderDecision(question, call, decision)),
    continued: (paused, by) => masked(renderPaused(paused, by)),
    waiting() {
      isWaiting = true;
      const message = working("⏸️ **Waiting for your decision**");
      // It may wait for days, so nothing is left to marks that are under way.
      return { [`${turn.id}:waiting`]: { do: "edit", field: "progress", message }, ...marks(asked, "taken") };
    },
    closing(receipt) {
      const { outcome } = receipt;
      const [message, offer] = lastMessages(receipt);
      const closingLine = `${headline(outcome)} · ${formatCount(outcome.steps, "step")} · ${formatDuration(receipt.durationMs)}`;
      const last = isQuiet ? null : work.done(closingLine);
      const entries: Record<string, OutboxEntry> = {
        [`${turn.id}:answer`]: { do: "post", message, attempts: 0 },
        ...(offer && { [`${turn.id}:offer`]: { do: "post", message: offer, attempts: 0 } }),
        [progressKey(turn.id)]: { do: "settle", message: last && masked(last), since: turn.startedAt },
        ...marks(over(outcome), finalMark(outcome)),
        ...marks(receipt.withdrawn, "stopped"),
      };
      return entries;
    },
    async close() {
      closing.abort();
      status.end(isWaiting);
      const [mayBeShown] = await Promise.all([progress.close(), ...marking]);
      return mayBeShown;
    },
    ended(receipt) {
      const { outcome } = receipt;
      const messages = [...over(outcome), ...receipt.withdrawn].map(({ id }) => id);
      const [first, offer] = lastMessages(receipt);
      const markdown = [first.markdown, ...(offer ? [offer.markdown] : [])].join("\n\n");
      options.publish({
        ...{ type: "turn-end", turn: turn.id, outcome, messages },
        closing: { ...first, markdown },
      });
    },
  };
}

function finalMark(outcome: TurnOutcome): MessageMark {
  switch (outcome.kind) {
    case "answered":
    case "step-limit":
    case "budget":
      return "answered";
    case "stopped":
      return "stopped";
    case "refused":
    case "model-error":
      return "failed";
    case "waiting":
    case "suspended":
    case "lost-lease":
      return "waiting";
  }
}
