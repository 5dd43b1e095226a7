import type { Redis } from "ioredis";
import { type ConsoleChange, parseChange } from "../conversations/console-message.ts";
import { changesChannel, type Conversations } from "../conversations/conversations.ts";
import { type SharedEvent, type Stream, type StreamRequest, Streams } from "./streams.ts";

/**
 * The live streams of all open pages: Server-Sent Events, with JSON in every `data`.
 *
 * - `threads`: the list of threads; `thread`: one changed line of it; `gone`: the id of one
 *   that was deleted or put away.
 * - `conversation`: `{ thread, messages, now }` of the page's thread, `thread` null when it does not exist, or no more;
 *   `message`: one changed message; `removed`: the id of a message that is gone.
 *
 * A stream starts with `threads` and `conversation`, and sends both again whenever something may have been missed, so
 * nothing is lost when a page reconnects or Redis was down.
 */
export class LiveStreams {
  readonly #conversations: Conversations;
  readonly #subscriber: Redis;
  readonly #onError: (error: unknown) => void;
  readonly #streams: Streams;
  readonly #pages = new Set<LivePage>();

  /** `subscriber` is a connection of its own; it is closed by {@link close}. */
  constructor(
    conversations: Conversations,
    subscriber: Redis,
    onError: (error: unknown) => void,
    shared?: SharedEvent,
  ) {
    this.#conversations = conversations;
    this.#subscriber = subscriber;
    this.#onError = onError;
    this.#streams = new Streams(onError, shared);
  }

  async start(): Promise<void> {
    // It reconnects by itself, and nothing waits for it: an outage is reported where commands fail.
    this.#subscriber.on("error", () => {});
    this.#subscriber.on("message", (_channel: string, payload: string) => {
      const change = parseChange(payload);
      // What cannot be read was told by a later Heddle: something has changed.
      for (const page of this.#pages) {
        if (change.ok) page.addChange(change.value);
        else page.resend();
      }
    });
    await this.#subscriber.subscribe(changesChannel);
    this.#subscriber.on("ready", () => void this.#catchUp());
  }

  /** Streams to a page until it disconnects. False when too many pages are connected; then nothing is written. */
  open(request: StreamRequest, thread: string | null): boolean {
    const stream = this.#streams.open(request);
    if (!stream) return false;
    const page = new LivePage(stream, this.#conversations, thread);
    this.#pages.add(page);
    stream.onEnd(() => this.#pages.delete(page));
    stream.run(() => page.write());
    return true;
  }

  /** After Redis was down: announcements are complete again only once the subscription is confirmed. */
  async #catchUp(): Promise<void> {
    try {
      await this.#subscriber.subscribe(changesChannel);
      for (const page of this.#pages) page.resend();
    } catch (error) {
      this.#onError(error);
    }
  }

  close(): void {
    this.#streams.close();
    this.#subscriber.disconnect();
  }
}

/** What must still be sent to a page. The state is read only when it is sent. */
class LivePage {
  readonly #stream: Stream;
  readonly #conversations: Conversations;
  readonly #thread: string | null;
  #everything = true;
  readonly #messages = new Set<string>();
  readonly #summaries = new Set<string>();

  constructor(stream: Stream, conversations: Conversations, thread: string | null) {
    this.#stream = stream;
    this.#conversations = conversations;
    this.#thread = thread;
  }

  addChange(change: ConsoleChange): void {
    if (change.message === undefined) this.#summaries.add(change.thread);
    else if (change.thread === this.#thread) this.#messages.add(change.message);
    else return;
    this.#stream.change();
  }

  resend(): void {
    this.#everything = true;
    this.#stream.change();
  }

  async write(): Promise<void> {
    const [isAll, ids, summaries] = [this.#everything, [...this.#messages], [...this.#summaries]];
    this.#everything = false;
    this.#messages.clear();
    this.#summaries.clear();
    await (isAll ? this.#writeEverything() : this.#writeChanges(ids, summaries));
  }

  async #writeEverything(): Promise<void> {
    await this.#stream.send("threads", await this.#conversations.threads());
    if (this.#thread !== null) await this.#writeConversation(this.#thread);
  }

  async #writeConversation(id: string): Promise<void> {
    const thread = await this.#conversations.thread(id);
    const messages = await this.#conversations.messages(id);
    await this.#stream.send("conversation", { thread, messages, now: Date.now() });
  }

  async #writeChanges(ids: string[], summaries: string[]): Promise<void> {
    let isGone = false;
    for (const id of summaries) {
      const summary = await this.#conversations.thread(id);
      if (summary && !summary.archived) await this.#stream.send("thread", summary);
      else await this.#stream.send("gone", id);
      isGone ||= !summary && id === this.#thread;
    }
    if (this.#thread === null) return;
    // Nothing is told of each message of a thread that was deleted.
    if (isGone) return this.#writeConversation(this.#thread);
    if (ids.length === 0) return;
    const messages = await this.#conversations.find(this.#thread, ids);
    for (const [position, message] of messages.entries()) {
      if (message) await this.#stream.send("message", message);
      else await this.#stream.send("removed", ids[position]);
    }
  }
}
