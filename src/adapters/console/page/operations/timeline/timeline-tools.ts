/** Finding one's way in a timeline: search, turns, failures, the start. */
import type { Outline } from "../../../../../operations/operations.ts";
import { getOutline, searchRecords } from "../../api.ts";
import { messageOf } from "../../transport.ts";
import { type Child, element, icon, type IconName } from "../../dom.ts";
import { foldText } from "../../fold-text.ts";
import { pluralize } from "../../format.ts";
import { onKeys } from "../../shortcuts.ts";
import { announce, showToast } from "../../toast.ts";

/** The most that the server takes of what is searched for in one thread. */
const mostSearchChars = 200;

/** What the tools move about in. */
interface Place {
  /** Position of the record that is read at this moment. */
  current(): number;
  goTo(position: number): Promise<void>;
  goToEnd(): Promise<void>;
  expandAll(open: boolean): void;
}

/** The tools, and what ends them. */
export function timelineTools(thread: string, place: Place): { element: HTMLElement; end: () => void } {
  const found = element("ol", { class: "found", "aria-label": "Found records" });
  const input = element("input", {
    id: "search",
    type: "search",
    placeholder: "Search this thread",
    "aria-label": "Search this thread",
    maxlength: mostSearchChars,
  });
  const form = element("form", { role: "search" }, input);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void search();
  });
  input.addEventListener("input", () => {
    if (input.value === "") found.replaceChildren();
  });

  async function search(): Promise<void> {
    const query = input.value.trim();
    if (query === "") return;
    try {
      const { found: all, hasMore } = await searchRecords(thread, query);
      const count =
        all.length === 0
          ? "Nothing found."
          : `${pluralize(all.length, "record")} found${hasMore ? ", there are more" : ""}.`;
      announce(count);
      const lines = all.map(({ position, excerpt }) => {
        const go = { type: "button", onclick: () => void place.goTo(position) };
        return element("li", {}, element("button", go, ...markFound(excerpt, query)));
      });
      found.replaceChildren(element("li", { class: "soft" }, count), ...lines);
    } catch (error) {
      showToast(messageOf(error));
    }
  }

  /** To the next turn or failure before or behind what is read. */
  const jump = (what: "turn" | "failure", by: 1 | -1) => async () => {
    try {
      const outline: Outline = await getOutline(thread);
      const all = what === "turn" ? outline.turns.map(({ position }) => position) : outline.failures;
      const at = place.current();
      const target = by === 1 ? all.find((one) => one > at) : all.findLast((one) => one < at);
      if (target !== undefined) return await place.goTo(target);
      const where = by === 1 ? "after" : "before";
      showToast(what === "turn" ? `There is no turn ${where} this.` : `Nothing has failed ${where} this.`);
    } catch (error) {
      showToast(messageOf(error));
    }
  };

  const jumps: [key: string, label: string, sign: IconName, act: () => Promise<void>][] = [
    ["T", "Previous turn", "up", jump("turn", -1)],
    ["t", "Next turn", "down", jump("turn", 1)],
    ["E", "Previous failure", "left", jump("failure", -1)],
    ["e", "Next failure", "right", jump("failure", 1)],
  ];
  const button = (label: string, act: () => unknown, ...content: Child[]) =>
    element(
      "button",
      { type: "button", class: "action", title: label, "aria-label": label, onclick: act },
      ...content,
    );
  /** There and back stay on one line. */
  const pair = (...names: string[]) =>
    element(
      "span",
      { class: "pair" },
      ...jumps
        .filter(([key]) => names.includes(key))
        .map(([key, label, sign, act]) =>
          button(`${label} (${key})`, act, icon(sign), label.replace(/^\w+ /, "")),
        ),
    );
  const bar = element(
    "div",
    { class: "timeline-tools", role: "toolbar", "aria-label": "Find in this timeline" },
    form,
    button("Go to the start", () => place.goTo(0), "Start"),
    button("Go to the end", () => place.goToEnd(), "End"),
    pair("T", "t"),
    pair("E", "e"),
    button("Unfold all calls", () => place.expandAll(true), "Unfold all"),
    button("Fold all calls", () => place.expandAll(false), "Fold all"),
  );
  const end = onKeys(Object.fromEntries(jumps.map(([key, , , act]) => [key, act])));
  return { element: element("div", {}, bar, found), end };
}

function markFound(excerpt: string, query: string): Child[] {
  const wanted = foldText(query);
  const at = foldText(excerpt).indexOf(wanted);
  if (at === -1) return [excerpt];
  const end = at + wanted.length;
  return [excerpt.slice(0, at), element("mark", {}, excerpt.slice(at, end)), excerpt.slice(end)];
}
