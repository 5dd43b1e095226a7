/** The conversation of one thread: all its messages in order, those near the view with all their parts. */
import type { ConsoleMessage } from "../../conversations/console-message.ts";
import { element } from "../dom.ts";
import { keepPlace } from "../keep-place.ts";
import { MessageEntry, type Surroundings } from "./message-entry.ts";
import { isOpenQuestion, isRunning, type MessageHandlers } from "./message-view.ts";

/** Closer than this to the end, in pixels, the conversation follows what is written. */
const nearEnd = 120;
/** Above and below the view, in heights of it: so far messages are drawn, and beyond that their text alone stays. */
const drawn = { within: 1, beyond: 2 };
/** So many messages share a parent, as a change makes the browser lay out all that have the same. */
const batchSize = 50;
/** What is drawn may be lower than it seemed, and make room for more. */
const mostRounds = 4;

/** The first message in view, and where it begins below the view's upper edge, in pixels. */
export interface ReadingPlace {
  id: string;
  top: number;
}

/** Shows messages in `log`, which is what `scroller` scrolls. */
export class Conversation {
  readonly #log: HTMLElement;
  readonly #scroller: HTMLElement;
  readonly #handlers: MessageHandlers;
  /** By their places. */
  #order: MessageEntry[] = [];
  readonly #entries = new Map<string, MessageEntry>();
  readonly #drawn = new Set<MessageEntry>();
  #latest: MessageEntry | undefined;
  #isPrinted = false;
  #thread = "";
  /** Ids of those that are questions still open, and of those because of which work goes on. */
  readonly #open = new Set<string>();
  readonly #running = new Set<string>();

  constructor(log: HTMLElement, scroller: HTMLElement, handlers: MessageHandlers) {
    this.#log = log;
    this.#scroller = scroller;
    this.#handlers = handlers;
  }

  get running(): boolean {
    return this.#running.size > 0;
  }

  get isNearEnd(): boolean {
    return this.#toEnd < nearEnd;
  }

  /** What is in view first; undefined where the end is, which is followed. */
  get place(): ReadingPlace | undefined {
    const { top } = this.#scroller.getBoundingClientRect();
    const first = this.#order[this.#firstBelow(top)];
    if (!first || this.isNearEnd) return undefined;
    return { id: first.message.id, top: first.article.getBoundingClientRect().top - top };
  }

  /** Shows exactly these messages; what is already there stays in place. {@link look} draws them. */
  replace(thread: string, messages: ConsoleMessage[]): void {
    if (thread !== this.#thread) this.clear();
    this.#thread = thread;
    const kept = new Set(messages.map(({ id }) => id));
    for (const id of this.#entries.keys()) if (!kept.has(id)) this.remove(id);
    for (const message of messages) this.#put(message);
  }

  clear(): void {
    this.#open.clear();
    this.#running.clear();
    this.#entries.clear();
    this.#drawn.clear();
    this.#order = [];
    this.#latest = undefined;
    this.#log.replaceChildren();
  }

  /** What comes by itself is mostly read as it comes, and drawn at once. */
  put(message: ConsoleMessage): void {
    const isNew = !this.#entries.has(message.id);
    const entry = this.#put(message);
    if (isNew) this.#draw([entry]);
  }

  remove(id: string): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    const batch = entry.article.parentElement;
    entry.article.remove();
    if (!batch?.firstChild) batch?.remove();
    this.#order.splice(this.#order.indexOf(entry), 1);
    this.#entries.delete(id);
    this.#drawn.delete(entry);
    this.#running.delete(id);
    this.#markLatest();
    this.#follow(id, false);
  }

  goToEnd(): void {
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.look();
  }

  /** False where that message is gone. */
  goTo({ id, top }: ReadingPlace): boolean {
    const article = this.#entries.get(id)?.article;
    if (!article) return false;
    const move = () => {
      const { top: upper } = this.#scroller.getBoundingClientRect();
      this.#scroller.scrollTop += article.getBoundingClientRect().top - upper - top;
    };
    move();
    this.look();
    move();
    return true;
  }

  /** Shows the message in the middle of the view, marked; false where it is gone. */
  point(id: string): boolean {
    const article = this.#entries.get(id)?.article;
    if (!article) return false;
    this.#log.querySelector("[aria-current]")?.removeAttribute("aria-current");
    article.setAttribute("aria-current", "true");
    this.goTo({ id, top: this.#scroller.clientHeight / 4 });
    // From here on by the keyboard, and by what a screen reader says.
    article.tabIndex = -1;
    article.focus({ preventScroll: true });
    return true;
  }

  /** Draws what is near the view, and leaves of what is far from it its text. */
  look(): void {
    const { top, bottom, height } = this.#scroller.getBoundingClientRect();
    if (height === 0 || this.#isPrinted) return;
    for (let round = 0; round < mostRounds; round += 1) {
      const near = this.#between(top - drawn.within * height, bottom + drawn.within * height);
      if (near.every(({ isDrawn }) => isDrawn)) break;
      this.#keepPlace(near, () => this.#draw(near));
    }
    const isFar = ({ article }: MessageEntry) => {
      const box = article.getBoundingClientRect();
      return box.bottom < top - drawn.beyond * height || box.top > bottom + drawn.beyond * height;
    };
    const far = [...this.#drawn].filter((entry) => isFar(entry) && !isHeld(entry.article));
    // All are measured before the first is changed.
    const heights = far.map(({ article }) => article.getBoundingClientRect().height);
    for (const [index, entry] of far.entries()) {
      entry.fold(heights[index] ?? 0);
      this.#drawn.delete(entry);
    }
  }

  /** Paper has no view: all is drawn as long as it is printed. */
  print(isBegun: boolean): void {
    this.#isPrinted = isBegun;
    if (isBegun) this.#draw(this.#order);
    else this.look();
  }

  get #around(): Surroundings {
    return { thread: this.#thread, asks: this.#open.size > 0 };
  }

  get #toEnd(): number {
    const { scrollHeight, scrollTop, clientHeight } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight;
  }

  #put(message: ConsoleMessage): MessageEntry {
    let entry = this.#entries.get(message.id);
    if (!entry) {
      entry = new MessageEntry(message, this.#handlers);
      const at = this.#order.findLastIndex((other) => other.message.place <= message.place) + 1;
      this.#insert(entry.article, at);
      this.#order.splice(at, 0, entry);
      this.#entries.set(message.id, entry);
    }
    entry.update(message, this.#around);
    if (isRunning(message)) this.#running.add(message.id);
    else this.#running.delete(message.id);
    this.#markLatest();
    this.#follow(message.id, isOpenQuestion(message));
    return entry;
  }

  /** Before the message that has this place now. */
  #insert(article: HTMLElement, at: number): void {
    const before = this.#order[at - 1]?.article;
    const batch = before ? before.parentElement : this.#log.firstElementChild;
    const isFull = at === this.#order.length && (batch?.childElementCount ?? 0) >= batchSize;
    if (before && !isFull) return before.after(article);
    if (!before && batch) return batch.prepend(article);
    this.#log.append(element("div", { class: "batch" }, article));
  }

  #draw(entries: readonly MessageEntry[]): void {
    for (const entry of entries) {
      if (!entry.isDrawn) entry.draw(this.#around);
      this.#drawn.add(entry);
    }
  }

  /** Where the end is in view it stays there, else what is read. */
  #keepPlace(near: readonly MessageEntry[], change: () => void): void {
    if (this.#toEnd < 2) {
      change();
      this.#scroller.scrollTop = this.#scroller.scrollHeight;
    } else {
      const rows = near.map(({ article }) => article);
      keepPlace(this.#scroller, rows, change);
    }
  }

  #between(top: number, bottom: number): MessageEntry[] {
    const from = this.#firstBelow(top);
    const behind = this.#order.slice(from);
    const end = behind.findIndex(({ article }) => article.getBoundingClientRect().top >= bottom);
    return end < 0 ? behind : behind.slice(0, end);
  }

  /** Which is the first that ends below that line of the window. */
  #firstBelow(line: number): number {
    let [from, to] = [0, this.#order.length];
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      if (this.#bottomOf(middle, from) > line) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  /** Of one that is hidden, that of the one before it. */
  #bottomOf(at: number, first: number): number {
    for (const { article } of this.#order.slice(first, at + 1).toReversed()) {
      const box = article.getBoundingClientRect();
      if (box.height > 0) return box.bottom;
    }
    return -Infinity;
  }

  /** The last message of a person is the one that can be sent again. */
  #markLatest(): void {
    const latest = this.#order.findLast(({ message }) => message.kind === "person");
    if (latest === this.#latest) return;
    this.#latest?.article.removeAttribute("data-latest");
    latest?.article.setAttribute("data-latest", "");
    this.#latest = latest;
  }

  /** While a question is open, what waits for it says so. */
  #follow(id: string, isOpen: boolean): void {
    const before = this.#open.size > 0;
    if (isOpen) this.#open.add(id);
    else this.#open.delete(id);
    if (this.#open.size > 0 === before) return;
    for (const entry of this.#drawn) if (isRunning(entry.message)) entry.draw(this.#around);
  }
}

/** Somebody is at it, or has begun or ended a selection there. */
function isHeld(article: HTMLElement): boolean {
  const selection = getSelection();
  const isSelected = selection !== null && !selection.isCollapsed && selection.containsNode(article, true);
  return isSelected || article.contains(document.activeElement);
}
