import type { TurnOutcome } from "../agent/events.ts";
import type { UserMessage } from "../agent/messages.ts";
import type { MessageMark } from "../chat/outbound.ts";
import type { MessageRef, ThreadRef } from "../chat/threads.ts";
import type { OutboxEntry } from "../queue/outbox/contracts.ts";
import { platformMessageId } from "../queue/session/mailbox/message-changes.ts";

interface TurnMarksOptions {
  turn: string;
  thread: ThreadRef;
  mark(ref: MessageRef, mark: MessageMark, signal: AbortSignal): Promise<void>;
  onProblem(problem: string, error: unknown): void;
}

/** The marks on the messages that a turn works on. */
export class TurnMarks {
  readonly #options: TurnMarksOptions;
  readonly #closing = new AbortController();
  readonly #marking: Promise<void>[] = [];

  constructor(options: TurnMarksOptions) {
    this.#options = options;
  }

  /** Marks messages as taken, in the background; their final marks go through the outbox. */
  showTaken(messages: readonly UserMessage[]): void {
    for (const ref of this.#refsOf(messages)) this.#marking.push(this.#showTaken(ref));
  }

  /** What the outbox is to do so that the messages get this mark. @param isPaused see `MarkOptions` */
  toEntries(
    messages: readonly UserMessage[],
    mark: MessageMark,
    isPaused = false,
  ): Record<string, OutboxEntry> {
    const { turn } = this.#options;
    return Object.fromEntries(
      this.#refsOf(messages).map((ref) => [
        `${turn}:mark:${ref.message}`,
        { do: "mark", ref, mark, ...(isPaused && { paused: true }) },
      ]),
    );
  }

  /** Sets no more marks; resolves when none is under way. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#marking);
  }

  async #showTaken(ref: MessageRef): Promise<void> {
    const { signal } = this.#closing;
    try {
      await this.#options.mark(ref, "taken", signal);
    } catch (error) {
      if (!signal.aborted) this.#options.onProblem("A message could not be marked as taken.", error);
    }
  }

  /** A scheduled task is not a message on the platform, and who has not addressed the agent is not told that it listens. */
  #refsOf(messages: readonly UserMessage[]): MessageRef[] {
    const { platform, workspace, channel } = this.#options.thread;
    return messages
      .filter(({ scheduled, unaddressed }) => !scheduled && !unaddressed)
      .map(({ id }) => ({ platform, workspace, channel, message: platformMessageId(id) }));
  }
}

/** The mark of the messages that a turn has dealt with when it ends. */
export function chooseFinalMark(outcome: TurnOutcome): MessageMark {
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

/** Whether somebody can let the work go on, see `renderPaused`. */
export function isPausedByLimit({ kind }: TurnOutcome): boolean {
  return kind === "step-limit" || kind === "budget";
}
