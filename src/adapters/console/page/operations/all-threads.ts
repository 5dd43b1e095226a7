/** The threads of all platforms, live: what runs, what waits, what it cost; stop and continue from there. */
import type { ThreadPage } from "../../../../operations/finding.ts";
import type { ThreadLine } from "../../../../operations/finding.ts";
import { sessionAddress } from "../addresses.ts";
import { continueSession, messageOf, replyOf, stopSession, watchSessions } from "../api.ts";
import { element, icon, timeElement } from "../dom.ts";
import { formatCost, formatCount } from "../format.ts";
import { mayWorkIn } from "../person.ts";
import { stateOf } from "../states.ts";
import { showToast } from "../toast.ts";
import { typingMs } from "./filter-inputs.ts";
import { chip, emptyNote, type Frame } from "./report.ts";
import { filterBar } from "./thread-filters.ts";
import { createSaidSection } from "./thread-search.ts";
import { placeOf, titleOf } from "./thread-words.ts";

/** What can be done with the thread in its state. */
function actionOf({ thread, state, ended }: ThreadLine): "stop" | "continue" | null {
  if (!mayWorkIn(thread)) return null;
  if (state !== "idle") return "stop";
  return ended === "paused" ? "continue" : null;
}

/** The button for that, if any. */
export function actionButtons(line: ThreadLine): HTMLElement[] {
  const action = actionOf(line);
  if (action === null) return [];
  const [word, request] =
    action === "stop" ? (["Stop", stopSession] as const) : (["Continue", continueSession] as const);
  const onclick = async () => {
    button.disabled = true;
    try {
      showToast(replyOf(await request(line.thread)));
    } catch (error) {
      showToast(messageOf(error));
    }
    button.disabled = false;
  };
  const attributes = {
    ...{ type: "button", class: action === "stop" ? "stop" : "action", onclick },
    "aria-label": `${word}: ${titleOf(line)}`,
  };
  const button = element("button", attributes, ...(action === "stop" ? [icon("stop")] : []), word);
  return [button];
}

/** Of one page of the list. */
const pageLines = 100;

/** Shows the page in `root`; returns what ends it. */
export function openAllThreads(root: HTMLElement, { changed, connected, refused }: Frame): () => void {
  let page: ThreadPage | undefined;
  let offset = 0;
  let end = () => {};
  let timer: ReturnType<typeof setTimeout> | undefined;
  const rows = new Map<string, ReturnType<typeof sessionRow>>();
  const bar = filterBar(() => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      offset = 0;
      follow();
    }, typingMs);
  });
  const list = element("ul", { class: "lines" });
  const nothing = emptyNote("Loading…");
  const said = createSaidSection();
  const turn = (by: number) => () => {
    offset = Math.max(0, offset + by);
    root.scrollTop = 0;
    follow();
  };
  const newer = element("button", { type: "button", class: "action", onclick: turn(-pageLines) }, "Previous");
  const older = element("button", { type: "button", class: "action", onclick: turn(pageLines) }, "Next");
  const range = element("span", { class: "soft" });
  const pager = element("nav", { class: "pager", "aria-label": "Pages", hidden: true }, newer, range, older);
  root.replaceChildren(bar.element, list, nothing, pager, said.element);
  follow();

  function follow(): void {
    end();
    const { sort, ...filter } = bar.read();
    end = watchSessions(
      { ...filter, sort, offset, limit: pageLines },
      {
        sessions(next) {
          if (page) changed();
          page = next;
          show(next);
        },
        facets: bar.offer,
        connected,
        refused,
      },
    );
    said.search(filter);
  }

  function show({ lines, found, all, totals }: ThreadPage): void {
    const kept = new Set(lines.map(({ thread }) => thread));
    for (const [thread, row] of rows) {
      if (kept.has(thread)) continue;
      row.element.remove();
      rows.delete(thread);
    }
    for (const [index, line] of lines.entries()) {
      const row = rows.get(line.thread) ?? sessionRow();
      rows.set(line.thread, row);
      row.show(line);
      // What is in its place stays there, with the focus.
      if (list.children[index] !== row.element) list.insertBefore(row.element, list.children[index] ?? null);
    }
    const { running, waiting, asking, cost } = totals;
    const states = [`${running} running`, `${waiting} waiting`, ...(asking > 0 ? [`${asking} asking`] : [])];
    bar.count.textContent = `${formatCount(found)} of ${formatCount(all)} · ${states.join(" · ")} · ${formatCost(cost)}`;
    range.textContent = `${formatCount(offset + 1)}–${formatCount(offset + lines.length)} of ${formatCount(found)}`;
    pager.hidden = found <= pageLines && offset === 0;
    newer.disabled = offset === 0;
    older.disabled = offset + lines.length >= found;
    nothing.hidden = lines.length > 0;
    nothing.textContent =
      all > 0
        ? "No matching threads. Try another search, or other filters."
        : "No threads yet. Start one here, or mention Heddle in Slack or Discord.";
  }

  return () => {
    clearTimeout(timer);
    said.close();
    end();
  };
}

/** The parts stay while their content changes, so that nothing is taken from under a finger. */
function sessionRow() {
  const state = element("span", { class: "state" });
  const title = element("span", { class: "title" });
  const place = element("span", { class: "place" });
  const link = element("a", {}, title, place);
  const when = element("span", { class: "when" });
  const cost = element("span", { class: "cost" });
  const actions = element("span", { class: "row-actions" });
  let before = "";
  return {
    element: element("li", {}, state, link, actions, when, cost),
    show(line: ThreadLine) {
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
