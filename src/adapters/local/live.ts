import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Redis } from "ioredis";
import { changesChannel } from "./conversations.ts";
import type { ConsoleChange, Conversations } from "./conversations.ts";

/** Pages that may be connected at once. Each of them is an open connection. */
export const maxStreams = 64;

/** After this time, in milliseconds, a page that lost its stream connects again. */
export const retryMs = 1000;

/** Proxies and browsers give up a silent connection after a minute or so. */
export const heartbeatMs = 20_000;

/**
 * The live streams of all open pages: Server-Sent Events, JSON in every `data`.
 *
 * - `threads`: the list of threads; `thread`: one changed line of it.
 * - `conversation`: `{ thread, messages }` of the page's thread, `thread` null when it does not exist;
 *   `message`: one changed message; `removed`: the id of a message that is gone.
 *
 * A stream starts with `threads` and `conversation`, and does so again whenever something may have been missed,
 * so neither a page that reconnects nor a Redis that was away loses anything.
 */
export class LiveStreams {
  readonly #conversations: Conversations;
  readonly #subscriber: Redis;
  readonly #onError: (error: unknown) => void;
  readonly #streams = new Set<LiveStream>();
  #heartbeat: NodeJS.Timeout | undefined;

  /** `subscriber` is a connection of its own; it is closed by {@link close}. */
  constructor(conversations: Conversations, subscriber: Redis, onError: (error: unknown) => void) {
    this.#conversations = conversations;
    this.#subscriber = subscriber;
    this.#onError = onError;
  }

  async start(): Promise<void> {
    // It connects again by itself. Nobody waits for it: an outage is reported where commands fail.
    this.#subscriber.on("error", () => {});
    this.#subscriber.on("message", (_channel: string, payload: string) => {
      // Only Conversations publishes on this channel.
      const change: ConsoleChange = JSON.parse(payload);
      for (const stream of this.#streams) stream.changed(change);
    });
    await this.#subscriber.subscribe(changesChannel);
    this.#subscriber.on("ready", () => void this.#catchUp());
    this.#heartbeat = setInterval(() => {
      for (const stream of this.#streams) stream.beat();
    }, heartbeatMs);
  }

  /** Streams to a page until it leaves. False when too many pages are connected; nothing is written then. */
  open(response: ServerResponse, thread: string | null): boolean {
    if (this.#streams.size >= maxStreams) return false;
    response.writeHead(200, { "content-type": "text/event-stream", "x-accel-buffering": "no" });
    response.write(`retry: ${retryMs}\n\n`);
    const stream = new LiveStream(response, this.#conversations, thread, this.#onError);
    this.#streams.add(stream);
    response.once("close", () => this.#streams.delete(stream));
    stream.missedSomething();
    return true;
  }

  /** Redis was away. Announcements count again only from the moment that the subscription is confirmed. */
  async #catchUp(): Promise<void> {
    try {
      await this.#subscriber.subscribe(changesChannel);
      for (const stream of this.#streams) stream.missedSomething();
    } catch (error) {
      this.#onError(error);
    }
  }

  close(): void {
    clearInterval(this.#heartbeat);
    for (const stream of this.#streams) stream.cut();
    this.#subscriber.disconnect();
  }
}

/**
 * One page. What changes while an earlier change is still being written is only noted, and read when its turn
 * comes: a slow page gets fewer, not older, states, and costs no memory.
 */
class LiveStream {
  readonly #response: ServerResponse;
  readonly #conversations: Conversations;
  readonly #thread: string | null;
  readonly #onError: (error: unknown) => void;
  readonly #closed = new AbortController();
  #everything = false;
  #messages = new Set<string>();
  #summaries = new Set<string>();
  #writing = false;

  constructor(
    response: ServerResponse,
    conversations: Conversations,
    thread: string | null,
    onError: (error: unknown) => void,
  ) {
    this.#response = response;
    this.#conversations = conversations;
    this.#thread = thread;
    this.#onError = onError;
    response.once("close", () => this.#closed.abort());
  }

  changed(change: ConsoleChange): void {
    if (change.message === undefined) this.#summaries.add(change.thread);
    else if (change.thread === this.#thread) this.#messages.add(change.message);
    else return;
    void this.#write();
  }

  missedSomething(): void {
    this.#everything = true;
    void this.#write();
  }

  beat(): void {
    if (!this.#writing) this.#response.write(":\n\n");
  }

  /** Not ended: the end would wait behind whatever a slow page has not read yet. */
  cut(): void {
    this.#response.destroy();
  }

  async #write(): Promise<void> {
    if (this.#writing) return;
    this.#writing = true;
    try {
      while (!this.#closed.signal.aborted) {
        if (this.#everything) await this.#writeEverything();
        else if (this.#messages.size + this.#summaries.size > 0) await this.#writeChanges();
        else break;
      }
    } catch (error) {
      // The page connects again by itself and then gets the whole state.
      if (!this.#closed.signal.aborted) this.#onError(error);
      this.#response.destroy();
    } finally {
      this.#writing = false;
    }
  }

  async #writeEverything(): Promise<void> {
    this.#everything = false;
    this.#messages.clear();
    this.#summaries.clear();
    await this.#send("threads", await this.#conversations.threads());
    if (this.#thread === null) return;
    const thread = await this.#conversations.thread(this.#thread);
    await this.#send("conversation", { thread, messages: await this.#conversations.messages(this.#thread) });
  }

  async #writeChanges(): Promise<void> {
    const [ids, summaries] = [[...this.#messages], [...this.#summaries]];
    this.#messages.clear();
    this.#summaries.clear();
    for (const id of summaries) {
      const summary = await this.#conversations.thread(id);
      if (summary) await this.#send("thread", summary);
    }
    if (this.#thread === null || ids.length === 0) return;
    const messages = await this.#conversations.find(this.#thread, ids);
    for (const [position, message] of messages.entries()) {
      if (message) await this.#send("message", message);
      else await this.#send("removed", ids[position]);
    }
  }

  async #send(event: string, data: unknown): Promise<void> {
    const taken = this.#response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    if (!taken) await once(this.#response, "drain", { signal: this.#closed.signal });
  }
}
