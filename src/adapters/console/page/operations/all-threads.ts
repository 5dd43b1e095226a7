/** The threads of all platforms, live: what runs, what waits, what it cost; stop and continue from there. */
import type { ThreadLine } from "../../../../operations/operations.ts";
import { sessionAddress } from "../addresses.ts";
import { continueSession, messageOf, replyOf, stopSession, watchSessions } from "../api.ts";
import { element, icon, timeElement } from "../dom.ts";
import { formatCost } from "../format.ts";
import { stateOf } from "../states.ts";
import { showToast } from "../toast.ts";
import { chip, emptyNote, type Frame } from "./report.ts";

/** Where it is and who began it: by their names, or the channel by its id where its name is not known. */
export function placeOf({ thread, platform, channel, author }: ThreadLine): string {
  const [, , id = ""] = thread.split(":");
  const place = platform === "local" ? ["console"] : [platform, channel ?? id];
  return [...place, author].join(" · ");
}

/** A thread may begin with nothing but a mention. */
export function titleOf({ title }: ThreadLine): string {
  return title || "(no text)";
}

/** What can be done with the thread in its state. */
function actionOf({ state, ended }: ThreadLine): "stop" | "continue" | null {
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

const filters: Record<string, (line: ThreadLine) => boolean> = {
  all: () => true,
  running: ({ state }) => state === "running",
  asking: ({ state }) => state === "asking",
  waiting: ({ state }) => state === "waiting",
  paused: ({ state, ended }) => state === "idle" && ended === "paused",
  failed: ({ state, ended }) => state === "idle" && (ended === "failed" || ended === "refused"),
};

/** Shows the page in `root`; returns what ends it. */
export function openAllThreads(root: HTMLElement, { changed, connected, refused }: Frame): () => void {
  let lines: ThreadLine[] | undefined;
  const rows = new Map<string, ReturnType<typeof sessionRow>>();
  const search = element("input", {
    ...{ type: "search", id: "search", placeholder: "Search", "aria-label": "Search threads" },
    oninput: show,
  });
  const select = element(
    "select",
    { "aria-label": "State", onchange: show },
    ...["All states", "Running", "Asking", "Waiting", "Paused", "Failed"].map((word) =>
      element("option", { value: word === "All states" ? "all" : word.toLowerCase() }, word),
    ),
  );
  const count = element("p", { class: "count", role: "status" });
  const list = element("ul", { class: "lines" });
  const nothing = emptyNote("Loading…");
  root.replaceChildren(element("div", { class: "tools" }, search, select, count), list, nothing);

  function show(): void {
    if (!lines) return;
    const words = search.value.toLowerCase().split(/\s+/);
    const wanted = lines.filter((line) => {
      const text = `${line.title} ${line.thread} ${placeOf(line)}`.toLowerCase();
      return filters[select.value]?.(line) && words.every((word) => text.includes(word));
    });
    const kept = new Set(wanted.map(({ thread }) => thread));
    for (const [thread, row] of rows) {
      if (kept.has(thread)) continue;
      row.element.remove();
      rows.delete(thread);
    }
    for (const [index, line] of wanted.entries()) {
      const row = rows.get(line.thread) ?? sessionRow();
      rows.set(line.thread, row);
      row.show(line);
      // What is in its place stays there, with the focus.
      if (list.children[index] !== row.element) list.insertBefore(row.element, list.children[index] ?? null);
    }
    const running = lines.filter(({ state }) => state === "running").length;
    const waiting = lines.filter(({ state }) => state === "waiting").length;
    count.textContent = `${wanted.length} of ${lines.length} · ${running} running · ${waiting} waiting`;
    nothing.hidden = wanted.length > 0;
    nothing.textContent =
      lines.length > 0
        ? "No matching threads. Try another search, or choose all states."
        : "No threads yet. Start one here, or mention Heddle in Slack or Discord.";
  }

  return watchSessions({
    sessions(all) {
      if (lines) changed();
      lines = all;
      show();
    },
    connected,
    refused,
  });
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
