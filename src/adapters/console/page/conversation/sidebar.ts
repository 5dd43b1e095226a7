/** The list of console threads beside every page: searched, and with what waits for people in them. */
import { shortThread } from "../addresses.ts";
import { byId } from "../dom.ts";
import { followNeeds } from "../needs.ts";
import { ThreadList } from "./thread-list.ts";

/** With fewer of them nobody searches. */
const fewThreads = 9;

/** Makes the list of this page, of which there is one. */
export function createSidebar(): ThreadList {
  const search = byId("thread-search", HTMLInputElement);
  const threads = new ThreadList(byId("thread-list"), (count) => (search.hidden = count < fewThreads));
  search.addEventListener("input", () => threads.search(search.value));
  followNeeds(({ first }) => {
    const needs = first.flatMap(({ thread, kind }) => {
      const own = shortThread(thread);
      return own === null ? [] : [[own, kind] as const];
    });
    threads.showNeeds(new Map(needs));
  });
  return threads;
}
