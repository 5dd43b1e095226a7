/** Drawings of figures, each with the same figures as a table behind it. */
import { element } from "./dom.js";
import { table } from "./report.js";

const width = 720;
const height = 200;
const margin = { top: 14, right: 4, bottom: 24, left: 52 };

/**
 * Columns over time. `points` are `{ label, value }`, the oldest first; `format` makes words of a value.
 */
export function columns(title, points, format) {
  const most = Math.max(...points.map(({ value }) => value));
  const top = niceTop(most);
  const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom };
  const step = inner.width / points.length;
  const yOf = (value) => margin.top + inner.height * (1 - value / top);
  const lines = [0, top / 2, top].flatMap((value) => [
    svg("line", { class: "grid", x1: margin.left, x2: width - margin.right, y1: yOf(value), y2: yOf(value) }),
    svg(
      "text",
      { class: "axis", x: margin.left - 8, y: yOf(value) + 4, "text-anchor": "end" },
      format(value),
    ),
  ]);
  const marks = points.map(({ label, value }, index) => {
    const tall = inner.height * (value / top);
    const bar = {
      x: margin.left + index * step + step * 0.14,
      y: margin.top + inner.height - tall,
      width: step * 0.72,
    };
    return svg(
      "rect",
      { class: "bar-mark", ...bar, height: tall, rx: Math.min(3, tall / 2) },
      svg("title", {}, `${label}: ${format(value)}`),
    );
  });
  // As many as there is room for, the last one always.
  const every = Math.ceil(points.length / 8);
  const labels = points.flatMap(({ label }, index) => {
    if ((points.length - 1 - index) % every !== 0) return [];
    const at = { x: margin.left + (index + 0.5) * step, y: height - 7, "text-anchor": "middle" };
    return [svg("text", { class: "axis", ...at }, label.slice(5))];
  });
  const drawing = {
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `${title}. At most ${format(most)} in a day.`,
  };
  return figure(svg("svg", drawing, ...lines, ...marks, ...labels), title, points, format, "Day");
}

/** Bars beside their names, the longest first. */
export function bars(title, points, format, name) {
  const most = Math.max(...points.map(({ value }) => value), Number.MIN_VALUE);
  const rows = points.flatMap(({ label, value }) => [
    element("span", { class: "bar-name", title: label }, label),
    meter(value / most),
    element("span", { class: "bar-value" }, format(value)),
  ]);
  // The table says the same to those who do not see it.
  return figure(
    element("div", { class: "bars", "aria-hidden": "true" }, ...rows),
    title,
    points,
    format,
    name,
  );
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

function figure(drawing, title, points, format, name) {
  const rows = points.map(({ label, value }) => [label, format(value)]);
  const behind = element(
    "details",
    { class: "folded" },
    element("summary", {}, "As a table"),
    table(
      title,
      [
        [name, false],
        [title, true],
      ],
      rows,
    ),
  );
  return element("figure", {}, drawing, behind);
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
