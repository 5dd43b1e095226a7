/** The threads of all platforms, live: what runs, what waits, what it cost; stop and continue from there. */
import type { ThreadPage } from "../../../../../operations/finding.ts";
import { watchSessions } from "../../api.ts";
import { formatCost, formatCount } from "../../format.ts";
import { typingMs } from "../filter-inputs.ts";
import { emptyNote, type Frame } from "../report.ts";
import { filterBar } from "./thread-filters.ts";
import { ThreadRows } from "./thread-rows.ts";
import { createSaidSection } from "./thread-search.ts";

/** Shows the page in `root`; returns what ends it. */
export function openAllThreads(root: HTMLElement, { changed, connected, refused }: Frame): () => void {
  let isKnown = false;
  let end = () => {};
  let timer: ReturnType<typeof setTimeout> | undefined;
  const bar = filterBar(() => {
    clearTimeout(timer);
    timer = setTimeout(search, typingMs);
  });
  const list = new ThreadRows(root, () => follow());
  const nothing = emptyNote("Loading…");
  const said = createSaidSection();
  root.replaceChildren(bar.element, ...list.parts, nothing, said.element);
  search();

  function search(): void {
    const { sort: _, ...filter } = bar.read();
    list.goToStart();
    follow();
    said.search(filter);
  }

  function follow(): void {
    end();
    const on = { sessions: show, facets: bar.offer, connected, refused };
    end = watchSessions({ ...bar.read(), ...list.wanted }, on);
  }

  function show(page: ThreadPage): void {
    if (isKnown) changed();
    isKnown = true;
    list.show(page);
    const { found, all, totals } = page;
    const { running, waiting, asking, cost } = totals;
    const states = [`${running} running`, `${waiting} waiting`, ...(asking > 0 ? [`${asking} asking`] : [])];
    const count = `${formatCount(found)} of ${formatCount(all)} · ${states.join(" · ")} · ${formatCost(cost)}`;
    if (bar.count.textContent !== count) bar.count.textContent = count;
    nothing.hidden = found > 0;
    nothing.textContent =
      all > 0
        ? "No matching threads. Try another search, or other filters."
        : "No threads yet. Start one here, or mention Heddle in Slack or Discord.";
  }

  return () => {
    clearTimeout(timer);
    list.close();
    said.close();
    end();
  };
}
