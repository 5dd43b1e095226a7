/** Drawings of figures, each with the same figures as a table behind it. */
import { type Child, element, svg } from "../dom.ts";
import { type Column, table } from "./report.ts";

type Format = (value: number) => string;

export interface Series {
  name: string;
  /** The class that gives the colour. */
  color: string;
  /** One for each day. */
  values: number[];
}

interface ColumnsOptions {
  /** The oldest first. */
  days: string[];
  series: Series[];
  format: Format;
  /** The width that there is, in pixels, so that the words in it are as large as those around it. */
  room: number;
}

const height = 190;
const margin = { top: 14, right: 16, bottom: 24, left: 60 };

/** Days come as 2026-11-10. */
const dayOfMonth = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });

/** Columns over time, each day's series on top of one another. */
export function columns(title: string, { days, series, format, room }: ColumnsOptions): SVGElement {
  const width = Math.min(900, Math.max(260, room));
  const totals = days.map((_, day) => series.reduce((sum, { values }) => sum + (values[day] ?? 0), 0));
  const most = Math.max(...totals);
  const top = roundUp(most);
  const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom };
  const step = inner.width / days.length;
  const yOf = (value: number) => margin.top + inner.height * (1 - value / top);
  const lines = [0, top / 2, top].flatMap((value) => [
    svg("line", { class: "grid", x1: margin.left, x2: width - margin.right, y1: yOf(value), y2: yOf(value) }),
    svg(
      "text",
      { class: "axis", x: margin.left - 8, y: yOf(value) + 4, "text-anchor": "end" },
      format(value),
    ),
  ]);
  const marks = days.flatMap((day, index) => {
    let under = 0;
    return series.flatMap(({ name, color, values }) => {
      const value = values[index] ?? 0;
      if (value <= 0) return [];
      under += value;
      const place = {
        x: margin.left + index * step + step * 0.14,
        y: yOf(under),
        width: step * 0.72,
        height: (inner.height * value) / top,
      };
      const words = [name, day, format(value)].filter(Boolean).join(" · ");
      return [svg("rect", { class: `bar-mark ${color}`, ...place }, svg("title", {}, words))];
    });
  });
  // As many as there is room for, the last one always.
  const every = Math.ceil(days.length / Math.max(1, Math.floor(inner.width / 62)));
  const labels = days.flatMap((day, index) => {
    if ((days.length - 1 - index) % every !== 0) return [];
    const at = { x: margin.left + (index + 0.5) * step, y: height - 7, "text-anchor": "middle" };
    return [svg("text", { class: "axis", ...at }, dayOfMonth.format(new Date(`${day}T00:00:00Z`)))];
  });
  const drawing = {
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `${title}. Highest day: ${format(most)}.`,
  };
  return svg("svg", drawing, ...lines, ...marks, ...labels);
}

export interface Point {
  name: string;
  id: string;
  color: string;
  value: number;
}

/** Bars beside their names, the longest first. The table says the same. */
export function bars(points: Point[], format: Format): HTMLElement {
  const most = Math.max(...points.map(({ value }) => value), Number.MIN_VALUE);
  const rows = points
    .toSorted((a, b) => b.value - a.value)
    .flatMap(({ name, id, color, value }) => [
      element("span", { class: `bar-name ${color}`, title: id }, name),
      element("span", { class: color }, meter(value / most)),
      element("span", { class: "bar-value" }, format(value)),
    ]);
  return element("div", { class: "bars", "aria-hidden": "true" }, ...rows);
}

/** A part of a whole; `held` is set aside on top of it. */
export function meter(part: number, held = 0): SVGElement {
  const whole = { viewBox: "0 0 100 8", preserveAspectRatio: "none", class: "meter", "aria-hidden": "true" };
  const [used, aside] = [clamp(part), clamp(part + held)];
  return svg(
    "svg",
    whole,
    svg("rect", { class: "meter-whole", width: 100, height: 8 }),
    svg("rect", { class: "meter-held", width: aside * 100, height: 8 }),
    svg("rect", { class: part >= 1 ? "meter-used full" : "meter-used", width: used * 100, height: 8 }),
  );
}

/** A drawing with the same figures as a table behind it. */
export function figure(title: string, drawing: Child, head: Column[], rows: Child[][]): HTMLElement {
  const behind = element(
    "details",
    { class: "folded" },
    element("summary", {}, "View as table"),
    table(title, head, rows),
  );
  return element("figure", {}, drawing, behind);
}

function clamp(part: number): number {
  return Math.min(1, Math.max(0, part));
}

/** The next of 1, 2, 2.5, 5 and 10 in that order of magnitude, so that the middle line has a short name. */
function roundUp(most: number): number {
  if (!(most > 0)) return 1;
  const magnitude = 10 ** Math.floor(Math.log10(most));
  return magnitude * ([1, 2, 2.5, 5].find((step) => step * magnitude >= most) ?? 10);
}
