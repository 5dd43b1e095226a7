import type { Author } from "../../../chat/inbound.ts";
import type { ThreadRef } from "../../../chat/threads.ts";

interface SeenMessage {
  author: Author;
  thread: ThreadRef;
  text: string;
}

const capacity = 10_000;

/** Remembers messages: for a deletion, Discord tells neither whose message it was nor what it said. */
export class SeenMessages {
  readonly #messages = new Map<string, SeenMessage>();

  find(id: string): SeenMessage | undefined {
    return this.#messages.get(id);
  }

  remember(id: string, message: SeenMessage): void {
    this.#messages.delete(id);
    this.#messages.set(id, message);
    const [oldest] = this.#messages.keys();
    if (this.#messages.size > capacity && oldest !== undefined) this.#messages.delete(oldest);
  }
}
