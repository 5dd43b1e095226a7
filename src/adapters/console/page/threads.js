/** The list of threads. */
import { element, icon, timeElement } from "./dom.js";

const stateWords = {
  taken: "working",
  waiting: "waiting",
  answered: "answered",
  stopped: "stopped",
  failed: "not done",
};

/** Every thread has a dye of its own, the same on every page. */
export function dyeOf(thread) {
  return `dye-${Number.parseInt(thread.slice(-6), 36) % 7}`;
}

export function threadAddress(thread) {
  return `#/t/${thread}`;
}

export class ThreadList {
  #list;
  #threads = new Map();
  #current = null;
  #shown = "";
  /** Until then an empty list means nothing. */
  #known = false;

  constructor(list) {
    this.#list = list;
  }

  replace(threads) {
    this.#known = true;
    this.#threads = new Map(threads.map((thread) => [thread.id, thread]));
    this.#show();
  }

  put(thread) {
    this.#threads.set(thread.id, thread);
    this.#show();
  }

  select(thread) {
    this.#current = thread;
    this.#show();
  }

  #show() {
    const newest = [...this.#threads.values()].toSorted((a, b) => b.activeAt - a.activeAt);
    if (!this.#known) return;
    const now = JSON.stringify([this.#current, newest]);
    if (now === this.#shown) return;
    this.#shown = now;
    const focused = this.#list.contains(document.activeElement) ? document.activeElement.hash : null;
    const nothing = element("li", { class: "none" }, "Your threads will be listed here.");
    this.#list.replaceChildren(
      ...(newest.length > 0 ? newest.map((thread) => this.#line(thread)) : [nothing]),
    );
    for (const link of this.#list.querySelectorAll("a")) if (link.hash === focused) link.focus();
  }

  #line({ id, title, activeAt, state }) {
    const attributes = { href: threadAddress(id), class: dyeOf(id) };
    if (id === this.#current) attributes["aria-current"] = "page";
    const words = state ? ` · ${stateWords[state]}` : "";
    const details = element("span", { class: "details" }, timeElement(activeAt), words);
    const sign = element("span", { class: `sign ${state ?? ""}` }, state ? icon(state) : "");
    const text = element("span", { class: "text" }, element("span", { class: "title" }, title), details);
    return element("li", {}, element("a", attributes, sign, text));
  }
}
