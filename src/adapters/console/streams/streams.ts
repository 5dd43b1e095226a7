import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { Person } from "../server/person.ts";

/** How many pages may be connected at once; each holds a connection open. */
export const maxStreams = 64;
/** After this time, in milliseconds, a page that lost its stream reconnects. */
const retryMs = 1000;
/** Proxies and browsers close an idle connection after about a minute. */
const heartbeatMs = 20_000;

/** Something that every page is told beside what it has asked for. */
export interface SharedEvent {
  name: string;
  /** Undefined while it is not known. */
  read(): unknown;
  /** Calls back when it has changed; returns how to end it. */
  follow(onChange: () => void): () => void;
}

/** Whose page asks for a stream, and where it goes. */
export interface StreamRequest {
  response: ServerResponse;
  person: Person;
}

/**
 * The Server-Sent Events of all open pages, with JSON in every `data`.
 *
 * Where all streams are taken, the oldest of whoever has the most gives way, so that nobody shuts others out; but only to
 * somebody who then has no more than they: a page that was cut reconnects by itself, and would else cut the next one.
 */
export class Streams {
  readonly #onError: (error: unknown) => void;
  /** The oldest first, with whose each is. */
  readonly #open = new Map<Stream, string>();
  readonly #shared: SharedEvent | undefined;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(onError: (error: unknown) => void, shared?: SharedEvent) {
    this.#onError = onError;
    this.#shared = shared;
  }

  /** Undefined when too many pages are connected, or this one has disconnected; then nothing is written. */
  open({ response, person }: StreamRequest): Stream | undefined {
    const { id } = person.author;
    if (response.destroyed || !this.#makeRoom(id)) return undefined;
    this.#heartbeat ??= setInterval(() => {
      for (const stream of this.#open.keys()) stream.beat();
    }, heartbeatMs);
    response.writeHead(200, { "content-type": "text/event-stream", "x-accel-buffering": "no" });
    response.write(`retry: ${retryMs}\n\n`);
    const stream = new Stream(response, this.#onError);
    this.#open.set(stream, id);
    if (this.#shared) stream.share(this.#shared);
    stream.onEnd(() => this.#open.delete(stream));
    return stream;
  }

  close(): void {
    clearInterval(this.#heartbeat);
    for (const stream of this.#open.keys()) stream.cut();
  }

  #makeRoom(id: string): boolean {
    if (this.#open.size < maxStreams) return true;
    const byPerson = Map.groupBy(this.#open.keys(), (stream) => this.#open.get(stream) ?? "");
    const own = byPerson.get(id)?.length ?? 0;
    const [most = []] = [...byPerson.values()].toSorted((a, b) => b.length - a.length);
    const [oldest] = most;
    if (!oldest || most.length < own + 2) return false;
    this.#open.delete(oldest);
    oldest.cut();
    return true;
  }
}

/**
 * The stream of one page. Changes during a write are coalesced: a slow page receives fewer states, never older ones, and
 * costs no memory.
 */
export class Stream {
  readonly #response: ServerResponse;
  readonly #onError: (error: unknown) => void;
  readonly #closed = new AbortController();
  #write: () => Promise<void> = async () => {};
  #shared: SharedEvent | undefined;
  /** What of it was sent last. */
  #told = "";
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

  /** Sends this too, now and whenever it has changed. */
  share(event: SharedEvent): void {
    this.#shared = event;
    this.onEnd(event.follow(() => void this.#drain()));
  }

  change(): void {
    this.#changed = true;
    void this.#drain();
  }

  async #tellShared(): Promise<void> {
    const data = this.#shared?.read();
    const now = JSON.stringify(data) ?? "";
    if (!this.#shared || data === undefined || now === this.#told) return;
    this.#told = now;
    await this.send(this.#shared.name, data);
  }

  beat(): void {
    if (!this.#writing) this.#response.write(":\n\n");
  }

  /** Ends it in good order: the reader has all that there was to say. */
  finish(): void {
    this.#response.end();
  }

  /** Destroys the connection rather than ending it: the end would wait for a slow page to read everything. */
  cut(): void {
    this.#response.destroy();
  }

  async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#closed.signal, ref: false });
  }

  /** @param id what a reader that comes back names as `Last-Event-ID` */
  async send(event: string, data: unknown, id?: number): Promise<void> {
    const named = id === undefined ? "" : `id: ${id}\n`;
    const wasFlushed = this.#response.write(`event: ${event}\n${named}data: ${JSON.stringify(data)}\n\n`);
    if (!wasFlushed) await once(this.#response, "drain", { signal: this.#closed.signal });
  }

  async #drain(): Promise<void> {
    if (this.#writing) return;
    this.#writing = true;
    try {
      while (!this.#closed.signal.aborted) {
        await this.#tellShared();
        if (!this.#changed) break;
        this.#changed = false;
        await this.#write();
      }
    } catch (error) {
      // The page reconnects by itself and then receives the whole state.
      if (!this.#closed.signal.aborted) this.#onError(error);
      this.#response.destroy();
    } finally {
      this.#writing = false;
    }
  }
}
