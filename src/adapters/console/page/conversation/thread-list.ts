/** The list of threads. */
import { threadAddress } from "../addresses.ts";
import type { ThreadSummary } from "../../conversations.ts";
import type { NeedSummary } from "../../needs-feed.ts";
import { type Attributes, element, icon, timeElement } from "../dom.ts";

/** What a thread needs of a person, in its place. */
const needWords = {
  approval: "needs your decision",
  choice: "needs your answer",
  paused: "paused, needs you to continue",
};

/** The server sends no more than these. */
const listed = 200;

const stateWords = {
  taken: "working",
  waiting: "waiting",
  answered: "answered",
  stopped: "stopped",
  failed: "failed",
};

/** The class that gives a thread its colour, the same on every page. */
export function colorOf(thread: string): string {
  return `color-${Number.parseInt(thread.slice(-6), 36) % 7}`;
}

export class ThreadList {
  readonly #list: HTMLElement;
  #threads = new Map<string, ThreadSummary>();
  #needs: ReadonlyMap<string, NeedSummary["kind"]> = new Map();
  #current: string | null = null;
  #shown = "";
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

  #show(): void {
    const newest = [...this.#threads.values()].toSorted((a, b) => b.activeAt - a.activeAt);
    if (!this.#known) return;
    const now = JSON.stringify([this.#current, newest, [...this.#needs]]);
    if (now === this.#shown) return;
    this.#shown = now;
    const links = () => [...this.#list.querySelectorAll("a")];
    const focused = links().find((link) => link === document.activeElement)?.hash;
    const more = element(
      "li",
      { class: "none" },
      element("a", { href: "#/threads" }, "Older ones are under All threads."),
    );
    const nothing = element("li", { class: "none" }, "Your threads will be listed here.");
    this.#list.replaceChildren(
      ...(newest.length > 0 ? newest.map((thread) => this.#line(thread)) : [nothing]),
      ...(newest.length >= listed ? [more] : []),
    );
    links()
      .find(({ hash }) => hash === focused)
      ?.focus();
  }

  #line({ id, title, activeAt, state }: ThreadSummary): HTMLElement {
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
