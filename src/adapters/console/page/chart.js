/** Drawings of figures, each with the same figures as a table behind it. */
import { element } from "./dom.js";
import { table } from "./report.js";

const height = 190;
const margin = { top: 14, right: 16, bottom: 24, left: 60 };

/**
 * Columns over time, each day's series on top of one another.
 *
 * @param days the oldest first
 * @param series `{ name, dye, values }`, a value for each day; `dye` is the class that gives the colour
 * @param format makes words of a value
 * @param room the width that there is, in pixels, so that the words in it are as large as those around it
 */
export function columns(title, { days, series, format, room }) {
  const width = Math.min(900, Math.max(260, room));
  const totals = days.map((_, day) => series.reduce((sum, { values }) => sum + values[day], 0));
  const most = Math.max(...totals);
  const top = niceTop(most);
  const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom };
  const step = inner.width / days.length;
  const yOf = (value) => margin.top + inner.height * (1 - value / top);
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
    return series.flatMap(({ name, dye, values }) => {
      const value = values[index];
      if (value <= 0) return [];
      under += value;
      const place = {
        x: margin.left + index * step + step * 0.14,
        y: yOf(under),
        width: step * 0.72,
        height: (inner.height * value) / top,
      };
      const words = [name, day, format(value)].filter(Boolean).join(" · ");
      return [svg("rect", { class: `bar-mark ${dye}`, ...place }, svg("title", {}, words))];
    });
  });
  // As many as there is room for, the last one always.
  const every = Math.ceil(days.length / Math.max(1, Math.floor(inner.width / 62)));
  const labels = days.flatMap((day, index) => {
    if ((days.length - 1 - index) % every !== 0) return [];
    const at = { x: margin.left + (index + 0.5) * step, y: height - 7, "text-anchor": "middle" };
    return [svg("text", { class: "axis", ...at }, day.slice(5))];
  });
  const drawing = {
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `${title}. At most ${format(most)} in a day.`,
  };
  return svg("svg", drawing, ...lines, ...marks, ...labels);
}

/** Bars beside their names, the longest first. `points` are `{ name, id, dye, value }`. The table says the same. */
export function bars(points, format) {
  const most = Math.max(...points.map(({ value }) => value), Number.MIN_VALUE);
  const rows = points
    .toSorted((a, b) => b.value - a.value)
    .flatMap(({ name, id, dye, value }) => [
      element("span", { class: `bar-name ${dye}`, title: id }, name),
      element("span", { class: dye }, meter(value / most)),
      element("span", { class: "bar-value" }, format(value)),
    ]);
  return element("div", { class: "bars", "aria-hidden": "true" }, ...rows);
}

/** A part of a whole; `held` is set aside on top of it. */
export function meter(part, held = 0) {
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

/** Drawings with the same figures as a table behind them. `head` and `rows` are as in {@link table}. */
export function figure(title, drawings, head, rows) {
  const behind = element(
    "details",
    { class: "folded" },
    element("summary", {}, "As a table"),
    table(title, head, rows),
  );
  return element("figure", {}, ...drawings, behind);
}

function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function clamp(part) {
  return Math.min(1, Math.max(0, part));
}

/** The next of 1, 2, 2.5, 5 and 10 in that order of magnitude, so that the middle line has a short name. */
function niceTop(most) {
  if (!(most > 0)) return 1;
  const magnitude = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 2.5, 5, 10].find((step) => step * magnitude >= most) * magnitude;
}
