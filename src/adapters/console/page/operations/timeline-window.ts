/** The part of a thread's journal that is on the page: as a rule its end, and any other that is jumped to. */
import type { TimelinePage, TransientEvent } from "../../../../operations/timeline-entry.ts";
import { getTimeline, messageOf } from "../api.ts";
import { element } from "../dom.ts";
import { pluralize } from "../format.ts";
import { showToast } from "../toast.ts";
import { Entries } from "./timeline-entries.ts";
import { waterfall } from "./waterfall.ts";

/** How many records are shown before one that is jumped to. */
const recordsBefore = 20;
/** Above the first record that is read, in pixels. */
const headHeight = 90;
/** Closer than this to the end, in pixels, the page follows what is added. */
const nearEnd = 120;

export class TimelineWindow {
  readonly #root: HTMLElement;
  readonly #thread: string;
  readonly #list = element("ol", { class: "timeline" });
  readonly #earlier = moreButton("earlier", () => this.#showEarlier());
  readonly #later = moreButton("later", () => this.#showLater());
  readonly #entries: Entries;
  /** Records in the journal, as far as is known. */
  #length = 0;
  /** What was jumped to last, until somebody scrolls. */
  #reading: number | undefined;
  readonly parts = [this.#earlier, this.#list, this.#later];
  readonly #onScroll = () => (this.#reading = undefined);

  constructor(root: HTMLElement, thread: string) {
    this.#root = root;
    this.#thread = thread;
    this.#entries = new Entries(this.#list, (turn) =>
      waterfall(thread, turn, (position) => void this.goTo(position)),
    );
    for (const event of ["wheel", "touchmove"])
      root.addEventListener(event, this.#onScroll, { passive: true });
  }

  close(): void {
    for (const event of ["wheel", "touchmove"]) this.#root.removeEventListener(event, this.#onScroll);
  }

  /** Shows these records and no others. */
  show(page: TimelinePage): void {
    this.#entries.clear();
    this.#append(page);
  }

  /** Adds what has happened, where the end of the journal is shown. */
  grow(page: TimelinePage): void {
    const isFollowing = this.#entries.next >= this.#length;
    this.#length = Math.max(this.#length, page.length);
    // Somebody reads an earlier part: what is new waits behind the button.
    if (!isFollowing) return this.#showCounts();
    const { scrollHeight, scrollTop, clientHeight } = this.#root;
    this.#append(page);
    if (scrollHeight - scrollTop - clientHeight < nearEnd) this.#root.scrollTop = this.#root.scrollHeight;
  }

  showPassing(news: TransientEvent): void {
    if (this.#entries.next >= this.#length) this.#entries.appendPassing(news);
  }

  /** Position of the record that is read: what was jumped to, or else the first in view. */
  current(): number {
    if (this.#reading !== undefined) return this.#reading;
    const { top } = this.#root.getBoundingClientRect();
    const lines = [...this.#list.querySelectorAll<HTMLElement>(":scope > [data-position]")];
    const line = lines.find((one) => one.getBoundingClientRect().bottom > top + headHeight);
    return Number(line?.dataset.position ?? this.#entries.next);
  }

  /** Shows the record at that position, with what is around it. */
  async goTo(position: number): Promise<void> {
    const isShown = this.#entries.find(position) !== undefined;
    if (!isShown)
      await this.#load({ from: Math.max(0, position - recordsBefore) }, (page) => this.show(page));
    const found = this.#entries.find(position);
    if (!found) return;
    if (found instanceof HTMLDetailsElement) found.open = true;
    for (const other of this.#list.querySelectorAll(".reading")) other.classList.remove("reading");
    found.classList.add("reading");
    found.tabIndex = -1;
    found.focus({ preventScroll: true });
    found.scrollIntoView({ block: "center" });
    this.#reading = position;
  }

  async goToEnd(): Promise<void> {
    await this.goTo(Math.max(0, this.#length - 1));
    this.#root.scrollTop = this.#root.scrollHeight;
  }

  expandAll(open: boolean): void {
    for (const call of this.#list.querySelectorAll<HTMLDetailsElement>(".tool-call")) call.open = open;
  }

  async #showEarlier(): Promise<void> {
    await this.#load({ before: this.#entries.first }, (page) => {
      const height = this.#root.scrollHeight;
      this.#entries.prepend(page.entries, page.from);
      this.#showCounts();
      // What was in view stays in view.
      this.#root.scrollTop += this.#root.scrollHeight - height;
    });
  }

  async #showLater(): Promise<void> {
    await this.#load({ from: this.#entries.next }, (page) => this.#append(page));
  }

  #append({ entries, from, length }: TimelinePage): void {
    this.#length = Math.max(this.#length, length);
    this.#entries.append(entries, from);
    this.#showCounts();
  }

  async #load(where: { before?: number; from?: number }, show: (page: TimelinePage) => void): Promise<void> {
    try {
      show(await getTimeline(this.#thread, where));
    } catch (error) {
      showToast(messageOf(error));
    }
  }

  #showCounts(): void {
    const [before, behind] = [this.#entries.first, this.#length - this.#entries.next];
    this.#earlier.hidden = before === 0;
    this.#earlier.textContent = `Show earlier records (${pluralize(before, "more", "more")})`;
    this.#later.hidden = behind <= 0;
    this.#later.textContent = `Show later records (${pluralize(behind, "more", "more")})`;
  }
}

function moreButton(kind: "earlier" | "later", load: () => Promise<void>): HTMLButtonElement {
  const onclick = async () => {
    button.disabled = true;
    await load();
    button.disabled = false;
  };
  const button: HTMLButtonElement = element("button", {
    ...{ type: "button", class: `action ${kind}`, hidden: true },
    onclick,
  });
  return button;
}
