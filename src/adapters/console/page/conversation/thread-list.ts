/** The list of threads. */
import { threadAddress } from "../addresses.ts";
import type { ThreadSummary } from "../../conversations/conversations.ts";
import type { NeedSummary } from "../../streams/needs-feed.ts";
import { type Attributes, element, icon, timeElement } from "../dom.ts";

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
  paused: "paused",
};

/** The class that gives a thread its colour, the same on every page. */
export function colorOf(thread: string): string {
  return `color-${Number.parseInt(thread.slice(-6), 36) % 7}`;
}

const noThreads = element("li", { class: "none" }, "Your threads will be listed here.");
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
  readonly #rows = new Map<string, { line: HTMLElement; shown: string }>();
  #isDue = false;
  /** Until then an empty list means nothing. */
  #known = false;

  constructor(list: HTMLElement) {
    this.#list = list;
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
    const rows = newest.map((thread) => this.#row(thread));
    if (rows.length === 0) rows.push(noThreads);
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
