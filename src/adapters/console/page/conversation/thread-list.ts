/** The list of threads. */
import { threadAddress } from "../addresses.ts";
import type { ThreadSummary } from "../../conversations/conversations.ts";
import type { NeedSummary } from "../../streams/needs-feed.ts";
import { type Attributes, element, icon, nameDay, timeElement } from "../dom.ts";
import { foldText } from "../fold-text.ts";

/** What a thread needs of a person, in its place. */
const needWords = {
  approval: "needs your decision",
  account: "needs an account of somebody's",
  input: "needs an answer for a server",
  choice: "needs your answer",
  paused: "paused, needs you to continue",
};

/** The server sends no more than these, and older ones make room for those that come. */
const listed = 200;

const stateWords = {
  taken: "working",
  waiting: "waiting",
  answered: "answered",
  stopped: "stopped",
  failed: "failed",
  // For what, tells what it needs, which may come later.
  paused: "waits for somebody",
};

/** The class that gives a thread its colour, the same on every page. */
export function colorOf(thread: string): string {
  return `color-${Number.parseInt(thread.slice(-6), 36) % 7}`;
}

const noThreads = element("li", { class: "none" }, "Your threads will be listed here.");
const notFound = element(
  "li",
  { class: "none" },
  "None of these is called that. ",
  element("a", { href: "#/threads" }, "All threads"),
  " finds what was said, too.",
);
const olderThreads = element(
  "li",
  { class: "none" },
  element("a", { href: "#/threads" }, "Older ones are under All threads."),
);

export class ThreadList {
  readonly #list: HTMLElement;
  #threads = new Map<string, ThreadSummary>();
  #needs: ReadonlyMap<string, NeedSummary["kind"]> = new Map();
  #current: string | null = null;
  #words: string[] = [];
  readonly #days = new Map<string, HTMLElement>();
  readonly #onCount: (threads: number) => void;
  readonly #rows = new Map<string, { line: HTMLElement; shown: string }>();
  #isDue = false;
  /** Until then an empty list means nothing. */
  #known = false;

  /** @param onCount is told how many threads there are, whatever is searched for */
  constructor(list: HTMLElement, onCount: (threads: number) => void = () => {}) {
    this.#list = list;
    this.#onCount = onCount;
  }

  /** Shows those whose titles have all of these words. */
  search(text: string): void {
    this.#words = foldText(text).split(/\s+/).filter(Boolean);
    this.#show();
  }

  replace(threads: ThreadSummary[]): void {
    this.#known = true;
    this.#threads = new Map(threads.map((thread) => [thread.id, thread]));
    this.#show();
  }

  put(thread: ThreadSummary): void {
    this.#threads.set(thread.id, thread);
    this.#show();
  }

  remove(id: string): void {
    this.#threads.delete(id);
    this.#show();
  }

  /** By the ids of threads, what they wait for people to do. */
  showNeeds(needs: ReadonlyMap<string, NeedSummary["kind"]>): void {
    this.#needs = needs;
    this.#show();
  }

  select(thread: string | null): void {
    this.#current = thread;
    this.#show();
  }

  /** However many changes there are in a frame, the list is drawn once. */
  #show(): void {
    if (!this.#known || this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => this.#draw());
  }

  /** Rows that say the same as before stay as they are, with the focus. */
  #draw(): void {
    this.#isDue = false;
    const all = [...this.#threads.values()].toSorted((a, b) => b.activeAt - a.activeAt);
    const newest = all.slice(0, listed);
    for (const { id } of all.slice(listed)) this.#threads.delete(id);
    const focused = [...this.#list.querySelectorAll("a")].find((link) => link === document.activeElement);
    this.#onCount(newest.length);
    const found = newest.filter(({ title }) => this.#words.every((word) => foldText(title).includes(word)));
    const rows = this.#withDays(found);
    if (rows.length === 0) rows.push(newest.length === 0 ? noThreads : notFound);
    if (newest.length >= listed) rows.push(olderThreads);
    for (const id of this.#rows.keys()) if (!this.#threads.has(id)) this.#rows.delete(id);
    let at = this.#list.firstChild;
    for (const row of rows) {
      if (row === at) at = at.nextSibling;
      else this.#list.insertBefore(row, at);
    }
    while (at) {
      const next: ChildNode | null = at.nextSibling;
      at.remove();
      at = next;
    }
    // What is moved or drawn anew loses it.
    if (focused && focused !== document.activeElement) this.#focus(focused.hash);
  }

  #focus(hash: string): void {
    [...this.#list.querySelectorAll("a")].find((link) => link.hash === hash)?.focus();
  }

  /** The rows of these threads, those of each day below its name. */
  #withDays(threads: readonly ThreadSummary[]): HTMLElement[] {
    const rows: HTMLElement[] = [];
    let last = "";
    for (const thread of threads) {
      const day = nameDay(thread.activeAt);
      if (day !== last) rows.push(this.#dayHeading(day));
      last = day;
      rows.push(this.#row(thread));
    }
    return rows;
  }

  #dayHeading(day: string): HTMLElement {
    const heading = this.#days.get(day) ?? element("li", { class: "day" }, day);
    this.#days.set(day, heading);
    return heading;
  }

  #row(thread: ThreadSummary): HTMLElement {
    const { id } = thread;
    const shown = JSON.stringify([thread, id === this.#current, this.#needs.get(id)]);
    const known = this.#rows.get(id);
    if (known?.shown === shown) return known.line;
    const line = this.#line(thread);
    this.#rows.set(id, { line, shown });
    return line;
  }

  #line({ id, title, activeAt, paused, state: mark }: ThreadSummary): HTMLElement {
    const state = paused ? "paused" : mark;
    const attributes: Attributes = { href: threadAddress(id), class: colorOf(id) };
    if (id === this.#current) attributes["aria-current"] = "page";
    const need = this.#needs.get(id);
    const word = need ? needWords[need] : state && stateWords[state];
    const words = word ? ` · ${word}` : "";
    const details = element("span", { class: "details" }, timeElement(activeAt), words);
    const drawn = need ? (need === "paused" ? "paused" : "question") : state;
    const sign = element("span", { class: `sign ${drawn ?? ""}` }, drawn ? icon(drawn) : "");
    const text = element("span", { class: "text" }, element("span", { class: "title" }, title), details);
    return element("li", {}, element("a", attributes, sign, text));
  }
}
