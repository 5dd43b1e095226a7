/** What the page says beside its content. */
import type { IntakeResult } from "../../../chat/inbound.ts";
import { replyOf } from "./api.ts";
import { byId, type Child, element } from "./dom.ts";

/** How long it stands there that something was done, ms; with an address in it somebody may want to copy that. */
const doneMs = { text: 8_000, address: 60_000 };
const address = /(https?:\/\/\S+)/;

let doneTimer: ReturnType<typeof setTimeout> | undefined;

/** One line near the foot: why something was not done, or where to go on; an address in it is a link. */
export function showToast(text: string): void {
  if (text) fillLine("done", "");
  fillLine("toast", text);
}

/** The same place for what was done, which goes by itself. */
export function showDone(text: string): void {
  fillLine("toast", "");
  fillLine("done", text);
  clearTimeout(doneTimer);
  doneTimer = setTimeout(() => fillLine("done", ""), address.test(text) ? doneMs.address : doneMs.text);
}

/** What became of a press, in either line; nothing where the page shows it by itself. */
export function showOutcome(outcome: IntakeResult): void {
  const show = outcome.kind === "refused" || outcome.kind === "ignored" ? showToast : showDone;
  show(replyOf(outcome));
}

/** Takes that problem away, if it is the one that is shown: it is over. */
export function clearToast(text: string): void {
  if (byId("toast").textContent === text) fillLine("toast", "");
}

function fillLine(id: "toast" | "done", text: string): void {
  byId(id).replaceChildren(...text.split(address).map(toChild));
}

function toChild(part: string): Child {
  const url = /^https?:/.test(part) ? URL.parse(part) : null;
  if (!url) return part;
  return element("a", { href: url.href, target: "_blank", rel: "noopener noreferrer" }, part);
}

/** Another line there: what everything that was asked for waits for. */
export function showDelay(why: string): void {
  byId("delay").textContent = why && `${why} Your requests will be handled when it is back.`;
}

/** Said by screen readers. The live edits are not: nobody can listen to them. */
export function announce(text: string): void {
  byId("announcer").textContent = text;
}

const shown = { title: "", count: 0 };

export function showTitle(title: string): void {
  byId("title").textContent = title;
  shown.title = title;
  showTabTitle();
}

/** How much waits for a person, in the title of the tab. */
export function showCount(count: number): void {
  shown.count = count;
  showTabTitle();
}

function showTabTitle(): void {
  const { title, count } = shown;
  document.title = `${count > 0 ? `(${count}) ` : ""}${title ? `${title} · Heddle` : "Heddle"}`;
}
