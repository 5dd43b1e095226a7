/** Single keys, listed on `?`. They do nothing while somebody writes, and can be switched off. */
import { byId, element } from "./dom.ts";
import { readLocal, storeLocal } from "./local-store.ts";

const storeKey = "heddle shortcuts";

const rows: [keys: string, does: string][] = [
  ["n", "New thread"],
  ["i", "Needs you"],
  ["a", "All threads"],
  ["u", "Usage"],
  ["s", "System"],
  ["l", "Audit log"],
  ["/", "Search, or write a message"],
  ["j, k", "Next or previous item"],
  ["y, x", "Under Needs you: approve, or deny, the selected item"],
  ["1, 2", "Under Needs you: choose that answer"],
  ["c", "Under Needs you: continue"],
  ["t, T", "In a timeline: next or previous turn"],
  ["e, E", "In a timeline: next or previous failure"],
  ["Esc", "Close, or stop the running thread"],
  ["?", "Show this list"],
];

const addresses: Record<string, string> = {
  n: "#/",
  i: "#/needs",
  a: "#/threads",
  u: "#/usage",
  s: "#/system",
  l: "#/audit",
};

export function setUpShortcuts(): void {
  const dialog = byId("shortcuts", HTMLDialogElement);
  const enabled = byId("shortcuts-on", HTMLInputElement);
  enabled.checked = readLocal(storeKey) !== "off";
  enabled.addEventListener("change", () => storeLocal(storeKey, enabled.checked ? "on" : "off"));
  byId("shortcut-list").replaceChildren(
    ...rows.flatMap(([keys, does]) => [
      element("dt", {}, ...keys.split(", ").map((key) => element("kbd", {}, key))),
      element("dd", {}, does),
    ]),
  );
  byId("show-shortcuts").addEventListener("click", () => dialog.showModal());

  document.addEventListener("keydown", (event) => {
    if (isShortcut(event) && press(event.key, dialog)) event.preventDefault();
  });
}

/** Keys of one page, as long as it is open; returns what ends them. */
export function onKeys(acts: Record<string, () => unknown>): () => void {
  const listen = (event: KeyboardEvent) => {
    if (!isShortcut(event) || !Object.hasOwn(acts, event.key)) return;
    event.preventDefault();
    acts[event.key]?.();
  };
  document.addEventListener("keydown", listen);
  return () => document.removeEventListener("keydown", listen);
}

function isShortcut(event: KeyboardEvent): boolean {
  const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.isComposing;
  const isOn = byId("shortcuts-on", HTMLInputElement).checked;
  return isPlain && isOn && !isWriting(event.target) && !document.querySelector("dialog[open]");
}

function press(key: string, dialog: HTMLDialogElement): boolean {
  if (key === "?") dialog.showModal();
  else if (key === "/") (document.getElementById("search") ?? byId("text")).focus();
  else if (key === "j" || key === "k") step(key === "j" ? 1 : -1);
  else if (addresses[key] !== undefined) location.hash = addresses[key];
  else return false;
  return true;
}

/** Moves among the links of a list, and among what can be unfolded. */
function step(by: 1 | -1): void {
  const shown =
    document.body.dataset.page === "conversation"
      ? "#thread-list a"
      : "#report :is(.lines a, .needs .title, .said a, summary:not(.filters > summary))";
  const all = document.querySelectorAll<HTMLElement>(shown);
  const stops = [...all].filter((stop) => stop.offsetParent !== null);
  const at = stops.findIndex((stop) => stop === document.activeElement);
  stops.at(at === -1 ? (by > 0 ? 0 : -1) : Math.min(stops.length - 1, Math.max(0, at + by)))?.focus();
}

function isWriting(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches("input, textarea, select");
}
