import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { ThreadId } from "../adapter.ts";
import { heartbeatMs, maxStreams, retryMs } from "./live.ts";
import type { Passing, ThreadBook } from "./operations.ts";

/** The list is sent no more often than this. */
const listEveryMs = 1_000;
/** So much that is said at a moment is kept for a slow page; older words are dropped. */
const keptPassing = 20;

/**
 * Live streams for whoever watches over the threads of all platforms: Server-Sent Events, JSON in every `data`.
 *
 * - the list: `sessions`, all of it whenever something in it has changed.
 * - a thread: `line`, its line of the list; `entries`, a `TimelinePage` from where the stream has come to;
 *   `passing`, what is said at this moment.
 */
export class Watches {
  readonly #threads: ThreadBook;
  readonly #onError: (error: unknown) => void;
  readonly #open = new Set<Watch>();
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(threads: ThreadBook, onError: (error: unknown) => void) {
    this.#threads = threads;
    this.#onError = onError;
  }

  /** False when too many pages are connected; nothing is written then. */
  openList(response: ServerResponse): boolean {
    return this.#begin(response, (watch) => {
      const write = async () => {
        await watch.send("sessions", await this.#threads.list());
        await watch.rest(listEveryMs);
      };
      watch.onEnd(this.#threads.watchAll(() => watch.change()));
      watch.run(write);
    });
  }

  /** @param from position of the first entry that the page does not have */
  openThread(response: ServerResponse, thread: ThreadId, from: number): boolean {
    return this.#begin(response, (watch) => {
      let next = from;
      let passing: Passing[] = [];
      const write = async () => {
        for (;;) {
          const page = await this.#threads.timeline(thread, { from: next });
          if (page.entries.length === 0) break;
          await watch.send("entries", page);
          next = page.from + page.entries.length;
        }
        const said = passing;
        passing = [];
        for (const news of said) await watch.send("passing", news);
        await watch.send("line", (await this.#threads.find(thread)) ?? null);
      };
      watch.onEnd(
        this.#threads.watch(thread, (news) => {
          if (news) passing = [...passing, news].slice(-keptPassing);
          watch.change();
        }),
      );
      watch.run(write);
    });
  }

  close(): void {
    clearInterval(this.#heartbeat);
    for (const watch of this.#open) watch.cut();
  }

  #begin(response: ServerResponse, start: (watch: Watch) => void): boolean {
    if (this.#open.size >= maxStreams) return false;
    this.#heartbeat ??= setInterval(() => {
      for (const watch of this.#open) watch.beat();
    }, heartbeatMs);
    response.writeHead(200, { "content-type": "text/event-stream", "x-accel-buffering": "no" });
    response.write(`retry: ${retryMs}\n\n`);
    const watch = new Watch(response, this.#onError);
    this.#open.add(watch);
    watch.onEnd(() => this.#open.delete(watch));
    start(watch);
    return true;
  }
}

/** One page. It gets what is true when its turn comes: a slow one gets fewer, not older, states. */
class Watch {
  readonly #response: ServerResponse;
  readonly #onError: (error: unknown) => void;
  readonly #closed = new AbortController();
  #write: () => Promise<void> = async () => {};
  #changed = true;
  #writing = false;

  constructor(response: ServerResponse, onError: (error: unknown) => void) {
    this.#response = response;
    this.#onError = onError;
    response.once("close", () => this.#closed.abort());
  }

  onEnd(act: () => void): void {
    this.#closed.signal.addEventListener("abort", act, { once: true });
  }

  /** Writes now, and again after each change. */
  run(write: () => Promise<void>): void {
    this.#write = write;
    this.change();
  }

  change(): void {
    this.#changed = true;
    void this.#drain();
  }

  beat(): void {
    if (!this.#writing) this.#response.write(":\n\n");
  }

  cut(): void {
    this.#response.destroy();
  }

  async rest(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#closed.signal, ref: false });
  }

  async send(event: string, data: unknown): Promise<void> {
    const taken = this.#response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    if (!taken) await once(this.#response, "drain", { signal: this.#closed.signal });
  }

  async #drain(): Promise<void> {
    if (this.#writing) return;
    this.#writing = true;
    try {
      while (this.#changed && !this.#closed.signal.aborted) {
        this.#changed = false;
        await this.#write();
      }
    } catch (error) {
      // The page connects again by itself.
      if (!this.#closed.signal.aborted) this.#onError(error);
      this.#response.destroy();
    } finally {
      this.#writing = false;
    }
  }
}
