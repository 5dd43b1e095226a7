/** What the page says beside its content. */
import { byId, type Child, element } from "./dom.ts";

/** One line near the foot: why something was not done, or where to go on; an address in it is a link. */
export function showToast(text: string): void {
  byId("toast").replaceChildren(...text.split(/(https?:\/\/\S+)/).map(toChild));
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
