/** The threads of all platforms, live: what runs, what waits, what it cost; stop and continue from there. */
import { continueSession, stopSession, watchSessions } from "./api.js";
import { element, icon, timeElement } from "./dom.js";
import { formatCost } from "./format.js";
import { chip, emptyNote } from "./report.js";
import { stateOf } from "./states.js";

export function sessionAddress(thread) {
  return `#/s/${encodeURIComponent(thread)}`;
}

/** Where it is and who began it: by their names, or the channel by its id where its name is not known. */
export function placeOf({ thread, platform, channel, author }) {
  const [, , id] = thread.split(":");
  const place = platform === "local" ? ["console"] : [platform, channel ?? id];
  return [...place, author].join(" · ");
}

/** A thread may begin with nothing but a mention. */
export function titleOf({ title }) {
  return title || "(without a word)";
}

/** The button that fits the thread's state, if any; `onDone(text)` is told what became of it. */
export function actionFor(line, onDone) {
  const act = (request) => async (event) => {
    const button = event.currentTarget;
    button.disabled = true;
    try {
      const verdict = await request(line.thread);
      onDone(verdict.reply ?? (verdict.why ? `Nothing happened: ${verdict.why}.` : ""));
    } catch (error) {
      onDone(error.message);
    }
    button.disabled = false;
  };
  const named = (word) => ({ type: "button", "aria-label": `${word}: ${titleOf(line)}` });
  if (line.state !== "idle")
    return element(
      "button",
      { ...named("Stop"), class: "stop", onclick: act(stopSession) },
      icon("stop"),
      "Stop",
    );
  if (line.ended === "paused")
    return element(
      "button",
      { ...named("Continue"), class: "action", onclick: act(continueSession) },
      "Continue",
    );
  return null;
}

const filters = {
  all: () => true,
  running: ({ state }) => state === "running",
  asking: ({ state }) => state === "asking",
  waiting: ({ state }) => state === "waiting",
  paused: ({ state, ended }) => state === "idle" && ended === "paused",
  failed: ({ state, ended }) => state === "idle" && (ended === "failed" || ended === "refused"),
};

/** Shows the page in `root`; returns what ends it. */
export function openAllThreads(root, { note, changed, connected, refused }) {
  let lines;
  const rows = new Map();
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

  function show() {
    if (!lines) return;
    const words = search.value.toLowerCase().split(/\s+/);
    const wanted = lines.filter((line) => {
      const text = `${line.title} ${line.thread} ${placeOf(line)}`.toLowerCase();
      return filters[select.value](line) && words.every((word) => text.includes(word));
    });
    const kept = new Set(wanted.map(({ thread }) => thread));
    for (const [thread, row] of rows) {
      if (kept.has(thread)) continue;
      row.element.remove();
      rows.delete(thread);
    }
    for (const [index, line] of wanted.entries()) {
      const row = rows.get(line.thread) ?? sessionRow(note);
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
        ? "No thread is like that. Search for other words, or choose all states."
        : "There are no threads yet. Begin one here, or mention Heddle in Slack or Discord.";
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
function sessionRow(note) {
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
    show(line) {
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
      const offered = line.state !== "idle" ? "stop" : line.ended === "paused" ? "continue" : "";
      if (actions.dataset.offered === offered) return;
      actions.dataset.offered = offered;
      const button = actionFor(line, note);
      actions.replaceChildren(...(button ? [button] : []));
    },
  };
}
