import type { ThreadId } from "../../../chat/threads.ts";
import type { ThreadQuery } from "../../../operations/finding.ts";
import type { ThreadIndex } from "../../../operations/operations.ts";
import type { TransientEvent } from "../../../operations/timeline/timeline-entry.ts";
import { type SharedEvent, type StreamRequest, Streams } from "./streams.ts";

/** The list is sent at most this often. */
const listEveryMs = 1_000;
/** How many transient events are kept for a slow page; older ones are dropped. */
const maxTransient = 20;

/**
 * Live streams about the threads of all platforms: Server-Sent Events, with JSON in every `data`.
 *
 * - the list: `sessions`, the `ThreadPage` that was asked for whenever something in it has changed; `facets`, the
 *   `ThreadFacets` that there are.
 * - a thread: `line`, its line of the list; `entries`, a `TimelinePage` from the stream's position on; `passing`, a
 *   transient event.
 */
export class TimelineStreams {
  readonly #threads: ThreadIndex;
  readonly #streams: Streams;

  constructor(threads: ThreadIndex, onError: (error: unknown) => void, shared?: SharedEvent) {
    this.#threads = threads;
    this.#streams = new Streams(onError, shared);
  }

  /** False when too many pages are connected; then nothing is written. */
  openList(request: StreamRequest, query: ThreadQuery): boolean {
    const stream = this.#streams.open(request);
    if (!stream) return false;
    stream.onEnd(this.#threads.watchAll(() => stream.change()));
    let offered = "";
    stream.run(async () => {
      const { facets, ...page } = await this.#threads.query(query);
      await stream.send("sessions", page);
      const now = JSON.stringify(facets);
      if (now !== offered) await stream.send("facets", facets);
      offered = now;
      await stream.pause(listEveryMs);
    });
    return true;
  }

  /**
   * @param where.from position of the first entry that the page does not have
   * @param where.until ends the stream when nothing runs or waits there
   */
  openThread(
    request: StreamRequest,
    thread: ThreadId,
    { from, until }: { from: number; until?: "idle" | undefined },
  ): boolean {
    const stream = this.#streams.open(request);
    if (!stream) return false;
    let next = from;
    let passing: TransientEvent[] = [];
    stream.onEnd(
      this.#threads.watch(thread, (news) => {
        if (news) passing = [...passing, news].slice(-maxTransient);
        stream.change();
      }),
    );
    stream.run(async () => {
      for (;;) {
        const page = await this.#threads.timeline(thread, { from: next });
        if (page.entries.length === 0) break;
        next = page.from + page.entries.length;
        await stream.send("entries", page, next);
      }
      const events = passing;
      passing = [];
      for (const news of events) await stream.send("passing", news);
      const line = (await this.#threads.find(thread)) ?? null;
      await stream.send("line", line);
      if (until === undefined || (line && line.state !== "idle")) return;
      // Its last records may have been written after they were read.
      if ((await this.#threads.timeline(thread, { from: next })).entries.length > 0) stream.change();
      else stream.finish();
    });
    return true;
  }

  close(): void {
    this.#streams.close();
  }
}
