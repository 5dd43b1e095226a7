/** Where somebody was reading, by thread, as long as this tab is open: a reload must not lose it. */
import { readTab, storeTab } from "../local-store.ts";
import type { ReadingPlace } from "./messages.ts";

const storeKey = "heddle reading places";
/** So many threads at most: those that were left last. */
const mostPlaces = 100;

export class ReadingPlaces {
  readonly #places: Map<string, ReadingPlace>;

  constructor() {
    this.#places = new Map(readPlaces());
  }

  get(thread: string): ReadingPlace | undefined {
    return this.#places.get(thread);
  }

  /** Undefined where the end was in view, which is followed. */
  set(thread: string, place: ReadingPlace | undefined): void {
    this.#places.delete(thread);
    if (place) this.#places.set(thread, place);
    storeTab(storeKey, JSON.stringify([...this.#places].slice(-mostPlaces)));
  }
}

/** What this page has stored itself. */
function readPlaces(): [thread: string, place: ReadingPlace][] {
  return JSON.parse(readTab(storeKey) ?? "[]");
}
