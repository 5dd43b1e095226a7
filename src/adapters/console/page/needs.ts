/** What waits for a person, told by every stream: in the tab's title, beside the link, and by the browser. */
import type { Needs } from "./transport.ts";
import { byId } from "./dom.ts";
import { readLocal, storeLocal } from "./local-store.ts";
import { announce, showCount } from "./toast.ts";

const storeKey = "heddle notifications";

const words = {
  approval: "asks for your approval",
  account: "asks for an account of somebody's",
  input: "has a question of a server",
  choice: "asks a question",
  paused: "was paused by a limit",
};

const listeners = new Set<(needs: Needs) => void>();
let latest: Needs | undefined;

/** Calls back with what waits for people, now if it is known, and whenever it changes. Returns how to end it. */
export function followNeeds(listener: (needs: Needs) => void): () => void {
  listeners.add(listener);
  if (latest) listener(latest);
  return () => listeners.delete(listener);
}

export function takeNeeds(needs: Needs): void {
  const before = latest && new Set(latest.first.map(({ id }) => id));
  latest = needs;
  const { count, first } = needs;
  showCount(count);
  const badge = byId("needs-count");
  badge.textContent = String(count);
  badge.hidden = count === 0;
  // What waited before the page was opened is no news.
  if (before) for (const need of first) if (!before.has(need.id)) tell(need);
  for (const listener of listeners) listener(needs);
}

function tell({ id, kind, title }: Needs["first"][number]): void {
  const text = `${title || "A thread"} ${words[kind]}.`;
  announce(text);
  if (document.hasFocus() || !notifies()) return;
  // Of several tabs with the same tag the browser shows one.
  const notification = new Notification("Heddle needs you", { body: text, tag: `heddle ${id}` });
  notification.addEventListener("click", () => {
    focus();
    location.hash = "#/needs";
    notification.close();
  });
}

/** Whether the person wants notifications and the browser shows them. */
export function notifies(): boolean {
  return (
    "Notification" in globalThis && Notification.permission === "granted" && readLocal(storeKey) === "on"
  );
}

/** Turns notifications on or off; resolves with why they stay off. */
export async function setNotifies(on: boolean): Promise<string> {
  if (on && !globalThis.isSecureContext)
    return "Browsers notify only for pages on this machine or over HTTPS. Open the console by such an address.";
  if (on && (await Notification.requestPermission()) !== "granted")
    return "The browser does not allow notifications of this page. Allow them in its settings for this address.";
  storeLocal(storeKey, on ? "on" : "off");
  return "";
}
