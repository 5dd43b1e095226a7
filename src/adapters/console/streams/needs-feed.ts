import type { ThreadId } from "../../../chat/threads.ts";
import type { NeedLine, Operations } from "../../../operations/operations.ts";
import type { SharedEvent } from "./streams.ts";

/** What waits for a person, in short: which page shows it is up to the page. */
export interface NeedSummary {
  id: string;
  thread: ThreadId;
  kind: "approval" | "account" | "input" | "choice" | "paused";
  title: string;
}

/** Pages are told of so many; the list has all. */
const mostTold = 100;

/** The event of every stream that tells what waits: how much of it there is, and the first of it. */
export function shareNeeds(feed: NeedsFeed): SharedEvent {
  return {
    name: "needs",
    read: () =>
      feed.current && { count: feed.current.length, first: feed.current.slice(0, mostTold).map(summarize) },
    follow: (onChange) => feed.follow(onChange),
  };
}

function summarize({ id, line: { thread, title }, question }: NeedLine): NeedSummary {
  return { id, thread, kind: question?.kind ?? "paused", title };
}

/** Changes within this time are read together, ms. */
const gatherMs = 250;

/** Follows what waits for people, for as long as anybody looks on. */
export class NeedsFeed {
  readonly #operations: Pick<Operations, "needs" | "threads">;
  readonly #onError: (error: unknown) => void;
  readonly #listeners = new Set<() => void>();
  #endWatching: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #expiry: NodeJS.Timeout | undefined;
  #current: NeedLine[] | undefined;

  constructor(operations: Pick<Operations, "needs" | "threads">, onError: (error: unknown) => void) {
    this.#operations = operations;
    this.#onError = onError;
  }

  /** Undefined until it has been read. */
  get current(): readonly NeedLine[] | undefined {
    return this.#current;
  }

  /** Calls back when {@link current} has changed; returns how to end it. */
  follow(onChange: () => void): () => void {
    this.#listeners.add(onChange);
    this.#endWatching ??= this.#operations.threads.watchAll(() => this.#schedule(gatherMs));
    this.#schedule(0);
    return () => {
      this.#listeners.delete(onChange);
      if (this.#listeners.size > 0) return;
      this.#endWatching?.();
      this.#endWatching = undefined;
      clearTimeout(this.#timer);
      clearTimeout(this.#expiry);
      this.#timer = undefined;
      this.#current = undefined;
    };
  }

  #schedule(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#read().catch(this.#onError);
    }, ms);
  }

  async #read(): Promise<void> {
    const needs = await this.#operations.needs();
    if (this.#listeners.size === 0) return;
    const isNews = JSON.stringify(needs) !== JSON.stringify(this.#current);
    this.#current = needs;
    this.#waitForExpiry(needs);
    if (isNews) for (const tell of this.#listeners) tell();
  }

  /** Nobody tells when the time to decide is over. */
  #waitForExpiry(needs: readonly NeedLine[]): void {
    clearTimeout(this.#expiry);
    const first = Math.min(...needs.flatMap(({ question }) => question?.until ?? []));
    if (first === Infinity) return;
    // A timer runs for no longer; then it is set again.
    const ms = Math.min(2 ** 31 - 1, Math.max(0, first - Date.now()) + gatherMs);
    this.#expiry = setTimeout(() => this.#schedule(0), ms);
  }
}
