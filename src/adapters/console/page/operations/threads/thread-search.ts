/** Beside the list of threads: those in which the words were said. */
import type { SearchCursor } from "../../../../../operations/finding.ts";
import { sessionAddress } from "../../addresses.ts";
import { searchThreads, type ThreadFilter } from "../../api.ts";
import { messageOf } from "../../transport.ts";
import { element, timeElement } from "../../dom.ts";
import { pluralize } from "../../format.ts";
import { placeOf, titleOf } from "../thread-words.ts";

/** The journals of so many threads are looked through at once before the person is asked. */
const atOnce = 1_000;

export function createSaidSection() {
  const list = element("ul", { class: "said" });
  const state = element("p", { class: "soft", role: "status" });
  let goFurther = () => {};
  const more = element(
    "button",
    { type: "button", class: "action", hidden: true, onclick: () => goFurther() },
    "Search further back",
  );
  const head = element("h3", {}, "Said in threads");
  const section = element("section", { class: "section", hidden: true }, head, list, state, more);
  let current = 0;

  async function search(filter: ThreadFilter): Promise<void> {
    const own = ++current;
    list.replaceChildren();
    more.hidden = true;
    section.hidden = !filter.words;
    if (!filter.words) return;
    await goOn(filter, own, undefined, 0, 0);
  }

  async function goOn(
    filter: ThreadFilter,
    own: number,
    from: SearchCursor | undefined,
    found: number,
    lookedBefore: number,
  ): Promise<void> {
    let after = from;
    let [count, looked] = [found, lookedBefore];
    state.textContent = "Searching…";
    more.hidden = true;
    try {
      do {
        const page = await searchThreads(filter, after);
        if (own !== current) return;
        for (const { line, excerpt } of page.found) {
          const link = element("a", { href: sessionAddress(line.thread) }, titleOf(line));
          const place = element("span", { class: "soft" }, placeOf(line), " · ", timeElement(line.activeAt));
          list.append(element("li", {}, link, place, element("p", {}, excerpt)));
        }
        count += page.found.length;
        looked += page.looked;
        after = page.next;
        state.textContent = `Searching… ${pluralize(looked, "thread")} looked through.`;
      } while (after && looked - lookedBefore < atOnce && count - found < 20);
    } catch (error) {
      if (own === current) state.textContent = messageOf(error);
      return;
    }
    const words = count === 0 ? "Nobody said that" : `Said in ${pluralize(count, "thread")}`;
    state.textContent = `${words}, ${pluralize(looked, "thread")} looked through${after ? "" : ", all but direct messages"}.`;
    more.hidden = !after;
    goFurther = () => void goOn(filter, own, after, count, looked);
  }

  return {
    element: section,
    search: (filter: ThreadFilter) => void search(filter),
    close: () => (current += 1),
  };
}
