import type { TurnOutcome } from "../agent/events.ts";
import type { UserMessage } from "../agent/messages.ts";
import type { Question } from "../agent/questions.ts";
import { mayKeepSilent, nameEnding } from "../agent/silence.ts";
import type { MessageMark, OutboundMessage } from "../chat/outbound.ts";
import type { ChatSurface } from "../chat/surface.ts";
import { makeTitle } from "../chat/title.ts";
import { type MessageRef, parseThreadId, type ThreadId } from "../chat/threads.ts";
import type { OutboxEntry } from "../queue/outbox/contracts.ts";
import type { RateLimiter } from "../queue/outbox/rate-limit.ts";
import type { Verbosity } from "../queue/session/choices/verbosity.ts";
import type { Receipt, ShownTurn, TurnDisplay } from "../queue/turns/contracts.ts";
import { hadItsEnd } from "../queue/turns/stops.ts";
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

/**
 * Shows one turn in its thread: progress while it works, marks on people's messages, and how it ended. Of a turn that
 * nobody has asked for (`silence.ts`) it shows what the agent says, what it asks, and who has stopped it.
 */
export function createReporter(options: ReporterOptions): TurnDisplay {
  const { surface, turn, publish, banner = "" } = options;
  const thread = parseThreadId(options.thread);
  // The surface masks as well, but until then messages are stored in the outbox.
  const mask = (message: OutboundMessage) => maskMessage(message, options.mask);
  const isQuiet = options.verbosity === "quiet";
  const messages: UserMessage[] = [];
  let isWaiting = false;
  let hasAsked = turn.waited === true;
  /** Somebody waits for it from the moment on in which it is addressed or has asked people. */
  const isUnasked = () => !hasAsked && mayKeepSilent(messages);

  const withResults = options.verbosity === "full";
  const work = createWorkView({ turn: turn.id, banner, withResults, calls: turn.calls, mask: options.mask });
  const title = () => makeTitle(options.mask(messages[0]?.text ?? ""), titleChars);
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

  const questions = createQuestionRenderer(options);

  const listFinished = (outcome: TurnOutcome) => messages.filter((message) => hadItsEnd(message, outcome));

  return {
    took(taken) {
      messages.push(...taken);
      if (turn.resumed && !isUnasked()) status.takeOver();
      marks.showTaken(taken);
      publish({ type: "turn-start", turn: turn.id, messages: taken.map(({ id }) => id) });
    },
    event(event) {
      publish(event);
      const isNews = work.apply(event);
      if (isUnasked()) return;
      if (event.type === "step-start") status.show("is thinking…");
      if (event.type === "tool-start") status.show(`is using ${nameCall(event.call)}…`);
      if (isNews && !isQuiet) progress.show(() => mask(renderProgress(work, turn, messages)));
    },
    question(question, call) {
      hasAsked = true;
      return questions.question(question, call);
    },
    settled: questions.settled,
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
      if (isUnasked() && !speaks(outcome)) return {};
      const [message, offer] = renderLast(options, messages, receipt);
      // The figures stand under the answer.
      const last = isQuiet || isUnasked() ? null : work.done(renderHeadline(outcome));
      const mayStay = last === null || progress.isGrowing();
      // What is edited notifies nobody.
      const isInPlace = mayStay && !message.mentions && isShortAnswer(outcome, message, surface);
      const entries: Record<string, OutboxEntry> = {
        ...(nameEnding(outcome) !== "silent" && {
          [`${turn.id}:answer`]: { do: "post", message, attempts: 0, ...(isInPlace && { inPlace: true }) },
        }),
        ...(offer && { [`${turn.id}:offer`]: { do: "post", message: offer, attempts: 0 } }),
        [progressKey(turn.id)]: { do: "settle", message: last && mask(last), since: turn.startedAt },
        ...marks.toEntries(listFinished(outcome), chooseFinalMark(outcome), isPausedByLimit(outcome)),
        ...marks.toEntries(receipt.withdrawn, "stopped"),
      };
      return entries;
    },
    async interrupted() {
      if (isUnasked()) return;
      await progress.showLast(() => mask(renderInterrupted(work)), interruptedMs);
    },
    async close() {
      status.end(isWaiting);
      return (await Promise.all([progress.close(), marks.close()]))[0];
    },
    ended(receipt) {
      const { outcome } = receipt;
      const ids = [...listFinished(outcome), ...receipt.withdrawn].map(({ id }) => id);
      const closing = joinMessages(renderLast(options, messages, receipt));
      publish({ ...{ type: "turn-end", turn: turn.id, outcome, messages: ids }, closing });
    },
  };
}

function renderElapsed(startedAt: number): string {
  return formatDuration(Math.max(1_000, Date.now() - startedAt));
}

function renderProgress(
  work: WorkView,
  { startedAt }: ShownTurn,
  messages: readonly UserMessage[],
): OutboundMessage {
  const [growing, reader] = [work.growing(), messages[0]?.author.id];
  const message = work.working(`⏳ **Working** · ${renderElapsed(startedAt)}`);
  return growing && reader ? { ...message, growing: { ...growing, reader } } : message;
}

/** What the turn says in the end. */
function renderLast(
  options: ReporterOptions,
  messages: readonly UserMessage[],
  receipt: Receipt,
): [OutboundMessage, offer?: OutboundMessage] {
  const { surface, turn, banner } = options;
  const [first, offer] = renderClosing(turn.id, receipt, options);
  const markdown = [banner, first.markdown].filter(Boolean).join("\n\n");
  const mentions = listCalled(messages, receipt, { ...options, ...surface.limits, ...turn });
  const message = maskMessage({ ...first, markdown, ...mentions }, options.mask);
  return offer ? [message, maskMessage(offer, options.mask)] : [message];
}

/** What is put to people, and what became of it. */
function createQuestionRenderer({
  surface,
  deciders,
  mask,
}: ReporterOptions): Pick<TurnDisplay, "question" | "settled"> {
  const placeOf = (question: Question): QuestionPlace => {
    return { messageChars: surface.limits.messageChars, deciders: deciders(question), mask };
  };
  return {
    question: (question, call) => maskMessage(renderQuestion(question, call, placeOf(question)), mask),
    settled: (question, call, decision) =>
      maskMessage(renderDecision(question, call, placeOf(question), decision), mask),
  };
}

/** Whether a turn that nobody has asked for says how it has ended: nobody waits to hear that it has failed. */
function speaks(outcome: TurnOutcome): boolean {
  const ending = nameEnding(outcome);
  return ending === "answered" || ending === "stopped";
}

/** Whether one message that is edited can take it as it is. */
function isShortAnswer(
  { kind }: TurnOutcome,
  { markdown }: OutboundMessage,
  { limits: { answerInPlaceChars = 0 } }: ChatSurface,
): boolean {
  return kind === "answered" && markdown.length <= answerInPlaceChars;
}
