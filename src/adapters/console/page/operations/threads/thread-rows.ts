/**
 * The rows of all threads, of which only those near what is in view are on the page; spaces above and below stand for
 * the others. Who comes near an end of them asks for those that follow.
 */
import type { ThreadLine, ThreadPage } from "../../../../../operations/finding.ts";
import { sessionAddress } from "../../addresses.ts";
import { element, timeElement } from "../../dom.ts";
import { formatCost } from "../../format.ts";
import { keepPlace, onScroll, setHeight } from "../../keep-place.ts";
import { stateOf } from "../../states.ts";
import { actionButtons, actionOf } from "../thread-actions.ts";
import { chip } from "../report.ts";
import { placeOf, titleOf } from "../thread-words.ts";

/** So many are asked for at least, and three times what fits into the view. */
const leastRows = 60;
/** Pixels, as long as none has been seen. */
const likelyHeight = 53;

export class ThreadRows {
  readonly #root: HTMLElement;
  readonly #above = element("div", { "aria-hidden": "true" });
  /** Takes the focus of a row that leaves the page, so that the keyboard goes on from here. */
  readonly #list = element("ul", { class: "lines", tabindex: -1, "aria-label": "Threads" });
  readonly #below = element("div", { "aria-hidden": "true" });
  readonly #rows = new Map<string, ReturnType<typeof threadRow>>();
  readonly #onMove: () => void;
  readonly close: () => void;
  readonly parts = [this.#above, this.#list, this.#below];
  #rowHeight = likelyHeight;
  /** What is asked for. */
  wanted = { offset: 0, limit: leastRows };
  /** What is on the page: from where on, and of how many. */
  #offset = 0;
  #found = 0;
  /** What has to be at the top when it comes: somebody has scrolled to where no row was. */
  #sought: number | undefined;

  /** @param onMove other rows than before are wanted */
  constructor(root: HTMLElement, onMove: () => void) {
    this.#root = root;
    this.#onMove = onMove;
    this.close = onScroll(root, () => this.#look());
  }

  goToStart(): void {
    this.wanted = { offset: 0, limit: this.#limit };
    this.#sought = undefined;
    this.#root.scrollTop = 0;
  }

  show({ lines, offset, found }: ThreadPage): void {
    if (lines.length === 0 && offset > 0) {
      // So many have gone meanwhile.
      this.goToStart();
      return this.#onMove();
    }
    const change = () => this.#put(lines, offset, found);
    // At the top the newest are read, whatever comes.
    if (this.#root.scrollTop === 0) change();
    else if (!keepPlace(this.#root, this.#list.children, change)) this.#showSought();
    this.#sought = undefined;
  }

  get #limit(): number {
    return Math.max(leastRows, 3 * Math.ceil(this.#root.clientHeight / this.#rowHeight));
  }

  #put(lines: ThreadLine[], offset: number, found: number): void {
    const kept = new Set(lines.map(({ thread }) => thread));
    for (const [thread, row] of this.#rows) {
      if (kept.has(thread)) continue;
      if (row.element.contains(document.activeElement)) this.#list.focus({ preventScroll: true });
      row.element.remove();
      this.#rows.delete(thread);
    }
    for (const [index, line] of lines.entries()) {
      const row = this.#rows.get(line.thread) ?? threadRow();
      this.#rows.set(line.thread, row);
      row.show(line, offset + index + 1, found);
      // What is in its place stays there, with the focus.
      const there = this.#list.children[index] ?? null;
      if (there !== row.element) this.#list.insertBefore(row.element, there);
    }
    this.#offset = offset;
    this.#found = found;
    if (lines.length > 0) this.#rowHeight = this.#list.offsetHeight / lines.length || likelyHeight;
    setHeight(this.#above, offset * this.#rowHeight);
    setHeight(this.#below, (found - offset - lines.length) * this.#rowHeight);
  }

  #showSought(): void {
    const row = this.#list.children[(this.#sought ?? this.#offset) - this.#offset];
    if (row) this.#root.scrollTop += row.getBoundingClientRect().top - this.#root.getBoundingClientRect().top;
  }

  /** Asks for other rows where an end of these is closer than the view is high. */
  #look(): void {
    const { top, height } = this.#root.getBoundingClientRect();
    if (height === 0 || this.#found === 0) return;
    const inView = Math.ceil(height / this.#rowHeight);
    const past = Math.floor((top - this.#list.getBoundingClientRect().top) / this.#rowHeight);
    const first = Math.min(Math.max(0, this.#offset + past), this.#found - 1);
    const { offset, limit } = this.wanted;
    const isNearStart = first < offset + inView && offset > 0;
    const isNearEnd = first + 2 * inView > offset + limit && offset + limit < this.#found;
    if (!isNearStart && !isNearEnd) return;
    this.wanted = { limit: this.#limit, offset: Math.max(0, first - Math.floor((this.#limit - inView) / 2)) };
    this.#sought = first;
    this.#onMove();
  }
}

/** The parts stay while their content changes, so that nothing is taken from under a finger. */
export function threadRow() {
  const state = element("span", { class: "state" });
  const title = element("span", { class: "title" });
  const place = element("span", { class: "place" });
  const link = element("a", {}, title, place);
  const when = element("span", { class: "when" });
  const cost = element("span", { class: "cost" });
  const actions = element("span", { class: "row-actions" });
  const item = element("li", {}, state, link, actions, when, cost);
  const number = (name: string, value: number) => {
    if (item.getAttribute(name) !== String(value)) item.setAttribute(name, String(value));
  };
  let before = "";
  return {
    element: item,
    show(line: ThreadLine, position: number, found: number) {
      // For whoever hears the list: of all of them, not of those on the page.
      number("aria-posinset", position);
      number("aria-setsize", found);
      const now = JSON.stringify(line);
      if (now === before) return;
      before = now;
      link.href = sessionAddress(line.thread);
      title.textContent = titleOf(line);
      place.textContent = placeOf(line);
      link.title = line.thread;
      state.replaceChildren(chip(...stateOf(line)));
      when.replaceChildren(timeElement(line.activeAt));
      cost.textContent = line.cost === undefined ? "" : formatCost(line.cost);
      const offered = actionOf(line) ?? "";
      if (actions.dataset.offered === offered) return;
      actions.dataset.offered = offered;
      actions.replaceChildren(...actionButtons(line));
    },
  };
}
