import type { Chart } from "./figure.ts";

/** Draws charts as small SVG files that follow the reader's light or dark scheme. */

const width = 640;
const left = 240;
const right = 84;
const style = `<style>
text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600}.soft{fill:#656d76}
.grid{stroke:#d0d7de}.ours{fill:#0969da}.other{fill:#8c959f}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.soft{fill:#9198a1}.grid{stroke:#3d444d}.ours{fill:#4493f8}.other{fill:#6e7681}}
</style>`;

/** Told apart in both schemes, and by people who do not see red and green. */
const colours = ["#0969da", "#bc4c00", "#8250df", "#1a7f37", "#9a6700", "#bf3989", "#6e7781", "#0a7b83"];

export function drawChart(chart: Chart): string {
  return chart.kind === "bars" ? drawBars(chart) : drawLines(chart);
}

function drawBars({ title, unit, bars }: Extract<Chart, { kind: "bars" }>): string {
  const top = 40;
  const step = 28;
  const most = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE);
  const rows = bars.map(({ name, value, ours }, index) => {
    const y = top + index * step;
    const length = Math.max(1, (value / most) * (width - left - right));
    return [
      `<text x="${left - 8}" y="${y + 15}" text-anchor="end">${escape(name)}</text>`,
      `<rect x="${left}" y="${y}" width="${round(length)}" height="20" rx="2" class="${ours ? "ours" : "other"}"/>`,
      `<text x="${round(left + length + 6)}" y="${y + 15}" class="soft">${label(value)} ${escape(unit)}</text>`,
    ].join("");
  });
  return frame(title, top + bars.length * step + 8, rows);
}

function drawLines({ title, unit, axis, at, lines }: Extract<Chart, { kind: "lines" }>): string {
  const top = 44;
  const plot = { left: 64, height: 200, width: width - 64 - left };
  const most = niceCeiling(Math.max(...lines.flatMap(({ values }) => [...values])));
  const x = (index: number) => round(plot.left + (index / Math.max(1, at.length - 1)) * plot.width);
  const y = (value: number) => round(top + plot.height * (1 - value / most));
  const grid = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const level = y(most * share);
    return (
      `<line x1="${plot.left}" x2="${plot.left + plot.width}" y1="${level}" y2="${level}" class="grid"/>` +
      `<text x="${plot.left - 8}" y="${level + 4}" text-anchor="end" class="soft">${label(most * share)}</text>`
    );
  });
  const ticks = at.map(
    (name, index) =>
      `<text x="${x(index)}" y="${top + plot.height + 20}" text-anchor="middle" class="soft">${escape(name)}</text>`,
  );
  const drawn = lines.map(({ name, values }, index) => {
    const colour = colours[index % colours.length] ?? "";
    const points = values.map((value, position) => `${x(position)},${y(value)}`).join(" ");
    const legend = top + index * 22;
    return (
      `<polyline points="${points}" fill="none" stroke="${colour}" stroke-width="2.5"/>` +
      `<rect x="${width - left + 24}" y="${legend}" width="12" height="12" fill="${colour}"/>` +
      `<text x="${width - left + 42}" y="${legend + 11}">${escape(name)}</text>`
    );
  });
  const height = top + plot.height + 46;
  const caption = `<text x="${plot.left + plot.width / 2}" y="${height - 6}" text-anchor="middle" class="soft">${escape(axis)}</text>`;
  return frame(`${title} (${unit})`, height, [...grid, ...ticks, ...drawn, caption]);
}

function frame(title: string, height: number, content: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escape(title)}">`,
    style,
    `<text x="8" y="22" class="title">${escape(title)}</text>`,
    ...content,
    "</svg>\n",
  ].join("\n");
}

/** The next of 1, 2, 4, 10, 20, 40 and so on, whose fourth parts are short numbers. */
function niceCeiling(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-6)));
  return (([1, 2, 4, 10] as const).find((factor) => factor * power >= value) ?? 10) * power;
}

const label = (value: number) => Number(value.toPrecision(3)).toLocaleString("en");
const round = (value: number) => Math.round(value * 10) / 10;

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
