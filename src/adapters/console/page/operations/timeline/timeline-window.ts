/**
 * The part of a thread's journal that is on the page, as a rule its end at first; spaces above and below stand for the
 * rest, and who scrolls there finds it.
 */
import type { TimelinePage, TransientEvent } from "../../../../../operations/timeline/timeline-entry.ts";
import { recordAddress } from "../../addresses.ts";
import { getTimeline } from "../../api.ts";
import { messageOf } from "../../transport.ts";
import { element } from "../../dom.ts";
import { pluralize } from "../../format.ts";
import { keepPlace, onScroll, setHeight } from "../../keep-place.ts";
import { showToast } from "../../toast.ts";
import { Entries } from "./timeline-entries.ts";
import { waterfall } from "./waterfall.ts";

/** How many records are shown before one that is jumped to. */
const recordsBefore = 20;
/** Above the first record that is read, in pixels. */
const headHeight = 90;
/** Closer than this to the end, in pixels, the page follows what is added. */
const nearEnd = 120;

/** Of a record, in pixels, as long as none has been seen. */
const likelyHeight = 40;

export class TimelineWindow {
  readonly #root: HTMLElement;
  readonly #thread: string;
  readonly #list = element("ol", { class: "timeline", tabindex: -1 });
  readonly #earlier = moreButton("earlier", () => this.#showEarlier());
  readonly #later = moreButton("later", () => this.#showLater());
  readonly #above = element("div", { "aria-hidden": "true" });
  readonly #below = element("div", { "aria-hidden": "true" });
  readonly #entries: Entries;
  #recordHeight = likelyHeight;
  #loading: Promise<void> | undefined;
  /** Records in the journal, as far as is known. */
  #length = 0;
  /** What was jumped to last, until somebody scrolls. */
  #reading: number | undefined;
  readonly parts = [this.#above, this.#earlier, this.#list, this.#later, this.#below];
  readonly #onTouch = () => (this.#reading = undefined);
  readonly #endScroll: () => void;

  constructor(root: HTMLElement, thread: string) {
    this.#root = root;
    this.#thread = thread;
    this.#entries = new Entries(this.#list, {
      headTurn: (turn) => waterfall(thread, turn, (position) => void this.goTo(position)),
      addressOf: (position) => recordAddress(thread, position),
    });
    for (const event of ["wheel", "touchmove"])
      root.addEventListener(event, this.#onTouch, { passive: true });
    this.#endScroll = onScroll(root, () => void this.#look());
  }

  close(): void {
    this.#endScroll();
    for (const event of ["wheel", "touchmove"]) this.#root.removeEventListener(event, this.#onTouch);
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
    this.#keepPlace(() => this.#append(page));
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
    // From now on: whoever jumps further jumps from there.
    this.#reading = position;
    while (this.#loading) await this.#loading;
    if (this.#reading !== undefined && this.#reading !== position) return;
    const isShown = this.#entries.find(position) !== undefined;
    if (!isShown)
      await this.#load({ from: Math.max(0, position - recordsBefore) }, (page) => this.show(page));
    const found = this.#entries.find(position);
    if (!found) return;
    if (found instanceof HTMLDetailsElement) found.open = true;
    for (const other of this.#list.querySelectorAll(".reading")) other.classList.remove("reading");
    found.classList.add("reading");
    this.#focus(found);
    found.scrollIntoView({ block: "center" });
    this.#reading = position;
  }

  async goToEnd(): Promise<void> {
    await this.goTo(Math.max(0, this.#length - 1));
    this.#root.scrollTop = this.#root.scrollHeight;
  }

  /** Also those that come onto the page later. */
  expandAll(open: boolean): void {
    this.#entries.areUnfolded = open;
    for (const call of this.#list.querySelectorAll<HTMLDetailsElement>(".tool-call")) call.open = open;
  }

  async #showEarlier(): Promise<void> {
    await this.#load({ before: this.#entries.first }, (page) =>
      this.#keepPlace(() => {
        this.#entries.prepend(page.entries, page.from);
        this.#showCounts();
      }),
    );
  }

  async #showLater(): Promise<void> {
    await this.#load({ from: this.#entries.next }, (page) => this.#keepPlace(() => this.#append(page)));
  }

  #keepPlace(change: () => void): void {
    keepPlace(this.#root, this.#list.children, change);
  }

  /** Fetches what somebody comes close to, or has gone to by the scroll bar. */
  async #look(): Promise<void> {
    if (this.#loading || this.#length === 0) return;
    const { top, bottom, height } = this.#root.getBoundingClientRect();
    const list = this.#list.getBoundingClientRect();
    if (height === 0) return;
    const [before, behind] = [this.#entries.first, this.#length - this.#entries.next];
    if ((list.bottom < top && behind > 0) || (list.top > bottom && before > 0)) {
      const past = (top - list.top) / this.#recordHeight;
      await this.#show(Math.min(Math.max(0, Math.round(before + past)), this.#length - 1));
    } else if (list.top > top - height && before > 0) await this.#showEarlier();
    else if (list.bottom < bottom + height && behind > 0) await this.#showLater();
    else return;
    // Those may have been a few small records.
    requestAnimationFrame(() => void this.#look());
  }

  /** Shows the record at that position at the top. */
  async #show(position: number): Promise<void> {
    await this.#load({ from: Math.max(0, position - recordsBefore) }, (page) => {
      // At the start what stands above the records is in view.
      if (keepPlace(this.#root, this.#list.children, () => this.show(page)) || position === 0) return;
      const top = this.#entries.find(position)?.getBoundingClientRect().top;
      if (top !== undefined) this.#root.scrollTop += top - this.#root.getBoundingClientRect().top;
    });
  }

  #append({ entries, from, length }: TimelinePage): void {
    this.#length = Math.max(this.#length, length);
    const [wasAtButton, next] = [document.activeElement === this.#later, this.#entries.next];
    this.#entries.append(entries, from);
    if (wasAtButton) this.#focus(this.#entries.find(next));
    this.#showCounts();
  }

  #focus(line: HTMLElement | undefined): void {
    if (!line) return;
    line.tabIndex = -1;
    line.focus({ preventScroll: true });
  }

  async #load(where: { before?: number; from?: number }, show: (page: TimelinePage) => void): Promise<void> {
    if (this.#loading) return;
    this.#loading = getTimeline(this.#thread, where)
      .then(show)
      .catch((error: unknown) => showToast(messageOf(error)));
    await this.#loading;
    this.#loading = undefined;
  }

  #showCounts(): void {
    const [before, behind] = [this.#entries.first, this.#length - this.#entries.next];
    // Whoever is at a button that has nothing left to show goes on among the records.
    if (before === 0 && this.#earlier === document.activeElement) this.#list.focus({ preventScroll: true });
    this.#earlier.hidden = before === 0;
    this.#earlier.textContent = `Show earlier records (${pluralize(before, "more", "more")})`;
    this.#later.hidden = behind <= 0;
    this.#later.textContent = `Show later records (${pluralize(behind, "more", "more")})`;
    const shown = this.#entries.next - before;
    if (shown > 0) this.#recordHeight = this.#list.offsetHeight / shown || likelyHeight;
    setHeight(this.#above, before * this.#recordHeight);
    setHeight(this.#below, behind * this.#recordHeight);
  }
}

function moreButton(kind: "earlier" | "later", load: () => Promise<void>): HTMLButtonElement {
  return element("button", { type: "button", class: `action ${kind}`, hidden: true, onclick: load });
}
