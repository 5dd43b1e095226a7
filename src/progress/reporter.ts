import type { TurnOutcome } from "../agent/events.ts";
import type { UserMessage } from "../agent/messages.ts";
import type { Question } from "../agent/questions.ts";
import type { MessageMark, OutboundMessage } from "../chat/outbound.ts";
import type { ChatSurface } from "../chat/surface.ts";
import { makeTitle } from "../chat/title.ts";
import { type MessageRef, parseThreadId, type ThreadId } from "../chat/threads.ts";
import type { OutboxEntry } from "../queue/outbox/contracts.ts";
import type { RateLimiter } from "../queue/outbox/rate-limit.ts";
import type { Verbosity } from "../queue/session/verbosity.ts";
import type { Receipt, ShownTurn, TurnDisplay } from "../queue/turns/contracts.ts";
import { isOver } from "../queue/turns/stops.ts";
import { listCalled } from "./called-people.ts";
import { formatDuration, nameCall, renderHeadline } from "./describe.ts";
import { createEditedMessage } from "./edited-message.ts";
import type { LiveEvent } from "./live-event.ts";
import { maskMessage } from "./mask.ts";
import { type QuestionPlace, renderDecision, renderQuestion } from "./question-messages.ts";
import { renderClosing, renderPaused } from "./receipt.ts";
import { createThreadStatus } from "./thread-status.ts";
import { chooseFinalMark, isPausedByLimit, TurnMarks } from "./turn-marks.ts";
import { createWorkView, type WorkView } from "./work-view.ts";

export interface ReporterOptions {
  surface: ChatSurface;
  thread: ThreadId;
  output: RateLimiter;
  turn: ShownTurn;
  /** `quiet` shows only how the turn ends. */
  verbosity: Verbosity;
  /** Stands above everything that the turn shows. */
  banner?: string;
  /** Whether people can rate the answer. */
  asksRating?: boolean;
  /** Whether the end of a turn that has changed files has a button to undo it. */
  offersUndo?: boolean;
  onProgressPosted(ref: MessageRef): Promise<void>;
  /** See `EditedMessageOptions`. */
  overtaken(): Promise<OutboundMessage | null | undefined>;
  /** For live viewers. */
  publish(event: LiveEvent): void;
  /** Shows the state of somebody's message. */
  mark(ref: MessageRef, mark: MessageMark, signal: AbortSignal): Promise<void>;
  /** Ids of the people whom a question calls. */
  deciders(question: Question): readonly string[];
  /** Whether the end of the turn may call that person. */
  mayMention(person: string): boolean;
  /** Hides secrets; applied to everything that is shown or stored. */
  mask(text: string): string;
  onProblem(problem: string, error: unknown): void;
}

/** What stands over the work of a process that ends. Nobody may be there to hear its Stop button. */
const interruptedHeadline =
  "⏳ **Interrupted** because I am restarting. I'll go on by myself; to end it instead, react to your message with 🛑.";
/** For how long a hand-over waits for the platform to show it, ms. */
const interruptedMs = 700;

function joinMessages([first, offer]: [OutboundMessage, offer?: OutboundMessage]): OutboundMessage {
  const markdown = [first.markdown, ...(offer ? [offer.markdown] : [])].join("\n\n");
  return { ...first, markdown };
}

function renderInterrupted(work: WorkView): OutboundMessage {
  return { ...work.working(interruptedHeadline), stoppable: false };
}

/** Of a thread's title; a platform takes what it can show of it. */
const titleChars = 200;

/** The key under which a turn's progress message is posted and settled. */
export function progressKey(turn: string): string {
  return `${turn}:progress`;
}

/** Shows one turn in its thread: progress while it works, marks on people's messages, and how it ended. */
export function createReporter(options: ReporterOptions): TurnDisplay {
  const { surface, turn, publish, banner = "" } = options;
  const thread = parseThreadId(options.thread);
  // The surface masks as well, but until then messages are stored in the outbox.
  const mask = (message: OutboundMessage) => maskMessage(message, options.mask);
  const isQuiet = options.verbosity === "quiet";
  const messages: UserMessage[] = [];
  let isWaiting = false;

  const withResults = options.verbosity === "full";
  const work = createWorkView({ turn: turn.id, banner, withResults, calls: turn.calls });
  const title = () => options.mask(makeTitle(messages[0]?.text ?? "", titleChars));
  const status = createThreadStatus(surface, thread, title);
  const marks = new TurnMarks({ ...options, turn: turn.id, thread });
  const progress = createEditedMessage({
    surface,
    output: options.output,
    thread,
    key: progressKey(turn.id),
    known: turn.progress,
    knownSince: turn.startedAt,
    lookSince: turn.resumed ? turn.startedAt : undefined,
    async onPosted(ref) {
      await options.onProgressPosted(ref);
      status.onPosted();
    },
    overtaken: options.overtaken,
    onProblem: options.onProblem,
  });

  const placeOf = (question: Question): QuestionPlace => {
    const { messageChars } = surface.limits;
    return { messageChars, deciders: options.deciders(question), mask: options.mask };
  };

  const renderProgress = () => {
    const [growing, reader] = [work.growing(), messages[0]?.author.id];
    const message = work.working(`⏳ **Working** · ${renderElapsed(turn.startedAt)}`);
    return mask(growing && reader ? { ...message, growing: { ...growing, reader } } : message);
  };

  const listFinished = (outcome: TurnOutcome) => messages.filter((message) => isOver(message, outcome));

  const renderLast = (receipt: Receipt): [OutboundMessage, offer?: OutboundMessage] => {
    const [first, offer] = renderClosing(turn.id, receipt, options);
    const markdown = [banner, first.markdown].filter(Boolean).join("\n\n");
    const mentions = listCalled(messages, receipt, { ...options, ...surface.limits, ...turn });
    const message = mask({ ...first, markdown, ...mentions });
    return offer ? [message, mask(offer)] : [message];
  };

  return {
    took(taken) {
      if (turn.resumed) status.takeOver();
      messages.push(...taken);
      marks.showTaken(taken);
      publish({ type: "turn-start", turn: turn.id, messages: taken.map(({ id }) => id) });
    },
    event(event) {
      publish(event);
      if (event.type === "step-start") status.show("is thinking…");
      if (event.type === "tool-start") status.show(`is using ${nameCall(event.call)}…`);
      if (work.apply(event) && !isQuiet) progress.show(() => renderProgress());
    },
    question: (question, call) => mask(renderQuestion(question, call, placeOf(question))),
    settled: (question, call, decision) => mask(renderDecision(question, call, placeOf(question), decision)),
    continued: (paused, by) => mask(renderPaused(paused, by)),
    waiting() {
      isWaiting = true;
      const message = mask(work.working("⏸️ **Waiting for your decision**"));
      return {
        [`${turn.id}:waiting`]: { do: "edit", field: "progress", message },
        // It may wait for days, so nothing is left to marks that are under way.
        ...marks.toEntries(messages, "taken", true),
      };
    },
    closing(receipt) {
      const { outcome } = receipt;
      const [message, offer] = renderLast(receipt);
      // The figures stand under the answer.
      const last = isQuiet ? null : work.done(renderHeadline(outcome));
      const mayStay = last === null || progress.isGrowing();
      // What is edited notifies nobody.
      const isInPlace = mayStay && !message.mentions && isShortAnswer(outcome, message, surface);
      const entries: Record<string, OutboxEntry> = {
        [`${turn.id}:answer`]: { do: "post", message, attempts: 0, ...(isInPlace && { inPlace: true }) },
        ...(offer && { [`${turn.id}:offer`]: { do: "post", message: offer, attempts: 0 } }),
        [progressKey(turn.id)]: { do: "settle", message: last && mask(last), since: turn.startedAt },
        ...marks.toEntries(listFinished(outcome), chooseFinalMark(outcome), isPausedByLimit(outcome)),
        ...marks.toEntries(receipt.withdrawn, "stopped"),
      };
      return entries;
    },
    interrupted: () => progress.showLast(() => mask(renderInterrupted(work)), interruptedMs),
    async close() {
      status.end(isWaiting);
      const [mayBeShown] = await Promise.all([progress.close(), marks.close()]);
      return mayBeShown;
    },
    ended(receipt) {
      const { outcome } = receipt;
      const ids = [...listFinished(outcome), ...receipt.withdrawn].map(({ id }) => id);
      const closing = joinMessages(renderLast(receipt));
      publish({ ...{ type: "turn-end", turn: turn.id, outcome, messages: ids }, closing });
    },
  };
}

function renderElapsed(startedAt: number): string {
  return formatDuration(Math.max(1_000, Date.now() - startedAt));
}

/** Whether one message that is edited can take it as it is. */
function isShortAnswer(
  { kind }: TurnOutcome,
  { markdown }: OutboundMessage,
  { limits: { answerInPlaceChars = 0 } }: ChatSurface,
): boolean {
  return kind === "answered" && markdown.length <= answerInPlaceChars;
}
