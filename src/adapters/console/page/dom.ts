/** Building the page. Content is only ever text: nothing in this folder parses HTML. */

/** A listener deals with its own failures. */
type Listener = (event: Event) => unknown;

/** May hold event listeners (`onclick`), and properties that are true or false (`hidden`). */
export type Attributes = Record<string, string | number | boolean | Listener>;

export type Child = Node | string;

export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  return fill(document.createElement(tag), attributes, children);
}

export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes,
  ...children: Child[]
): SVGElementTagNameMap[Tag] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** One of the page's own drawings; it says nothing to a screen reader. */
export function icon(name: IconName): SVGSVGElement {
  const attributes = { class: `icon icon-${name}`, viewBox: "0 0 16 16", "aria-hidden": "true" };
  return svg("svg", attributes, svg("path", { d: shapes[name] }));
}

/** An element of index.html, of that kind. */
export function byId(id: string): HTMLElement;
export function byId<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind;
export function byId(id: string, kind: new () => HTMLElement = HTMLElement): HTMLElement {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`index.html has no ${kind.name} with the id ${id}`);
  return found;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const [unit, size] = bytes < 1e6 ? (["KB", bytes / 1e3] as const) : (["MB", bytes / 1e6] as const);
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${unit}`;
}

/** The time of day, and the day unless it is today. */
export function timeElement(at: number): HTMLTimeElement {
  const when = new Date(at);
  const attributes = { datetime: when.toISOString(), title: exact.format(when) };
  return element("time", attributes, formatTime(when));
}

function formatTime(when: Date): string {
  const today = when.toDateString() === new Date().toDateString();
  return (today ? timeOfDay : dayAndTime).format(when);
}

/** How often the page looks whether the day is another one, ms. */
const dayEveryMs = 60_000;

/** Over midnight, what was today becomes a day with a name; calls back when that has happened. */
export function followDays(onNewDay: () => void): void {
  let today = new Date().toDateString();
  setInterval(() => {
    const now = new Date().toDateString();
    if (now === today) return;
    today = now;
    for (const shown of document.querySelectorAll<HTMLElement>("time, [data-time]"))
      shown.textContent = formatTime(new Date(shown.getAttribute("datetime") ?? shown.dataset["time"] ?? ""));
    onNewDay();
  }, dayEveryMs);
}

/** The day of a time, as people call it: ms since the epoch. */
export function nameDay(at: number): string {
  const day = new Date(at).toDateString();
  const now = new Date();
  if (day === now.toDateString()) return "Today";
  const yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  return day === yesterday.toDateString() ? "Yesterday" : dayOnly.format(at);
}

// A format takes longer to make than a hundred times to write, and each row of a list has some.
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "short", timeStyle: "medium" });
const timeOfDay = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const dayOnly = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short" });
const dayAndTime = new Intl.DateTimeFormat(undefined, {
  ...{ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" },
});

function fill<Kind extends Element>(node: Kind, attributes: Attributes, children: Child[]): Kind {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean") node.toggleAttribute(name, value);
    else node.setAttribute(name, String(value));
  }
  node.append(...children);
  return node;
}

/** Line drawings on a field of 16 by 16; base.css gives them their stroke. */
const shapes = {
  idle: "M4.5 8h7",
  paused: "M6 4v8M10 4v8",
  question: "M5.6 6a2.4 2.4 0 113.6 2.1c-.8.5-1.2.9-1.2 1.9M8 12.4v.3",
  plus: "M8 3v10M3 8h10",
  menu: "M2 4h12M2 8h12M2 12h12",
  close: "M4 4l8 8M12 4l-8 8",
  send: "M8 13V3M3.5 7.5L8 3l4.5 4.5",
  stop: "M5.4 1.8h5.2l3.6 3.6v5.2l-3.6 3.6H5.4l-3.6-3.6V5.4z",
  taken:
    "M1.5 8S4 3.8 8 3.8 14.5 8 14.5 8 12 12.2 8 12.2 1.5 8 1.5 8zM8 6.2a1.8 1.8 0 100 3.6 1.8 1.8 0 000-3.6z",
  waiting: "M8 2a6 6 0 100 12A6 6 0 008 2zM8 5v3.2l2 1.4",
  answered: "M3 8.5l3.2 3.2L13 4.8",
  stopped: "M5.4 1.8h5.2l3.6 3.6v5.2l-3.6 3.6H5.4l-3.6-3.6V5.4zM5.5 8h5",
  failed: "M8 2.2L14.6 13.6H1.4zM8 6.5v3.4M8 11.6v.3",
  file: "M4 1.8h5l3.2 3.2v9.2H4zM9 1.8V5h3.2",
  folder: "M1.8 4h4.4l1.4 1.6h6.6v7.4H1.8z",
  download: "M8 2.5v7.5M4.8 7L8 10.2 11.2 7M3 13.2h10",
  refresh: "M13.2 8a5.2 5.2 0 11-1.6-3.7M13.4 1.9v2.9h-2.9",
  link: "M6.5 9.5l3-3M7.2 4.8l1.5-1.5a2.8 2.8 0 014 4l-1.5 1.5M8.8 11.2l-1.5 1.5a2.8 2.8 0 01-4-4l1.5-1.5",
  copy: "M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1",
  edit: "M3 13l.7-3L11 2.7l2.3 2.3L6 12.3zM9.5 4.2l2.3 2.3",
  left: "M10 3.5L5.5 8l4.5 4.5",
  right: "M6 3.5L10.5 8 6 12.5",
  up: "M8 13V3M3.5 7.5L8 3l4.5 4.5",
  down: "M8 3v10M3.5 8.5L8 13l4.5-4.5",
};

export type IconName = keyof typeof shapes;

const drawn = new WeakMap<Element, string>();

/**
 * Puts what `make` returns into the node if it shows other `content` than the last time: what is drawn anew loses the
 * focus, and what was selected in it.
 */
export function redraw(node: Element, content: unknown, make: () => Child[]): void {
  const now = JSON.stringify(content) ?? "";
  if (drawn.get(node) === now) return;
  drawn.set(node, now);
  node.replaceChildren(...make());
}
