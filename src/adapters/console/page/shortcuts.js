/** Single keys, listed on `?`. They do nothing while somebody writes, and can be switched off. */
import { byId, element } from "./dom.js";

const storeKey = "heddle shortcuts";

const rows = [
  ["n", "New thread"],
  ["a", "All threads"],
  ["u", "Usage"],
  ["s", "System"],
  ["l", "Audit log"],
  ["/", "Search, or write"],
  ["j, k", "Next or previous line"],
  ["Esc", "Close what is open, or stop the running thread"],
  ["?", "This list"],
];

const addresses = { n: "#/", a: "#/threads", u: "#/usage", s: "#/system", l: "#/audit" };

export function setUpShortcuts() {
  const dialog = byId("shortcuts");
  const enabled = byId("shortcuts-on");
  enabled.checked = read() !== "off";
  enabled.addEventListener("change", () => store(enabled.checked ? "on" : "off"));
  byId("shortcut-list").replaceChildren(
    ...rows.flatMap(([keys, words]) => [
      element("dt", {}, ...keys.split(", ").map((key) => element("kbd", {}, key))),
      element("dd", {}, words),
    ]),
  );
  byId("show-shortcuts").addEventListener("click", () => dialog.showModal());

  document.addEventListener("keydown", (event) => {
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.isComposing;
    if (!plain || !enabled.checked || isWriting(event.target) || document.querySelector("dialog[open]"))
      return;
    if (!press(event.key, dialog)) return;
    event.preventDefault();
  });
}

function press(key, dialog) {
  if (key === "?") dialog.showModal();
  else if (key === "/") (document.getElementById("search") ?? byId("text")).focus();
  else if (key === "j" || key === "k") step(key === "j" ? 1 : -1);
  else if (key in addresses) location.hash = addresses[key];
  else return false;
  return true;
}

/** Moves among the links of a list, and among what can be unfolded. */
function step(by) {
  const shown =
    document.body.dataset.page === "conversation" ? "#thread-list a" : "#report :is(.lines a, summary)";
  const stops = [...document.querySelectorAll(shown)].filter((stop) => stop.offsetParent !== null);
  const at = stops.indexOf(document.activeElement);
  stops.at(at === -1 ? (by > 0 ? 0 : -1) : Math.min(stops.length - 1, Math.max(0, at + by)))?.focus();
}

function isWriting(target) {
  return target.matches("input, textarea, select");
}

function read() {
  try {
    return localStorage.getItem(storeKey);
  } catch {
    return null;
  }
}

function store(value) {
  try {
    localStorage.setItem(storeKey, value);
  } catch {
    // Then it lasts as long as the page.
  }
}
