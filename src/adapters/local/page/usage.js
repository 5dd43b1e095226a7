/** What was used: by day, channel, person and model, and what is left of the budgets of today. */
import { getUsage } from "./api.js";
import { bars, columns, meter } from "./chart.js";
import { element } from "./dom.js";
import { counted, formatCost, formatCount, formatShort, tokensOf } from "./format.js";
import { chip, emptyNote, failure, section } from "./report.js";

const measures = {
  cost: { name: "Cost", of: ({ cost }) => cost, format: (value) => formatCost(value) },
  tokens: { name: "Tokens", of: tokensOf, format: (value) => formatShort(value) },
  turns: { name: "Turns", of: ({ turns }) => turns, format: (value) => formatShort(value) },
};

/** Shows the page in `root`; returns what ends it. */
export function openUsage(root) {
  let days = 14;
  let measure = "cost";
  let report;
  let closed = false;
  const body = element("div", {}, emptyNote("Loading…"));
  const choose = (label, options, chosen, act) =>
    element(
      "select",
      { "aria-label": label, onchange: (event) => act(event.target.value) },
      ...options.map(([value, words]) => element("option", { value, selected: value === chosen }, words)),
    );
  const periods = [7, 14, 30, 90].map((count) => [String(count), `${count} days`]);
  const kinds = Object.entries(measures).map(([value, { name }]) => [value, name]);
  root.replaceChildren(
    element(
      "div",
      { class: "tools" },
      choose("Period", periods, "14", (value) => {
        days = Number(value);
        void load();
      }),
      choose("Measure", kinds, "cost", (value) => {
        measure = value;
        if (report) show();
      }),
    ),
    body,
  );
  void load();

  async function load() {
    try {
      report = await getUsage(days);
      if (!closed) show();
    } catch (error) {
      if (!closed) body.replaceChildren(failure(error, load));
    }
  }

  function show() {
    const { name, of, format } = measures[measure];
    const total = report.days.reduce((sum, day) => sum + of(day), 0);
    const points = report.days.map((day) => ({ label: day.day, value: of(day) })).toReversed();
    const used = report.days.some(({ calls }) => calls > 0);
    const shares = (title, list, what) =>
      list.length === 0
        ? []
        : [
            section(
              title,
              bars(
                `${name} ${title.toLowerCase()}`,
                list
                  .map((share) => ({ label: share.id || "All others", value: of(share) }))
                  .toSorted((a, b) => b.value - a.value),
                format,
                what,
              ),
            ),
          ];
    body.replaceChildren(
      budgetsOf(report),
      ...(used
        ? [
            tiles(report.days),
            section(
              `${name} by day`,
              element(
                "p",
                { class: "soft" },
                `${format(total)} in ${counted(days, "day")}, time zone ${report.timeZone}`,
              ),
              columns(`${name} by day`, points, format),
            ),
            element(
              "div",
              { class: "columns" },
              ...shares("By channel", report.channels, "Channel"),
              ...shares("By person", report.users, "Person"),
              ...shares("By model", report.models, "Model"),
            ),
          ]
        : [emptyNote("Nothing was used in these days. Choose a longer period, or begin a thread.")]),
    );
  }

  return () => (closed = true);
}

function tiles(days) {
  const sum = (of) => days.reduce((total, day) => total + of(day), 0);
  const prompt = sum(({ input, cacheRead, cacheWrite }) => input + cacheRead + cacheWrite);
  const unknown = days.some(({ priceUnknown }) => priceUnknown);
  const shown = [
    [
      "Cost",
      formatCost(
        sum(({ cost }) => cost),
        unknown,
      ),
    ],
    ["Tokens", formatShort(sum(tokensOf))],
    [
      "Read from caches",
      prompt ? `${Math.round((100 * sum(({ cacheRead }) => cacheRead)) / prompt)} %` : "–",
    ],
    ["Turns", formatCount(sum(({ turns }) => turns))],
    ["Model calls", formatCount(sum(({ calls }) => calls))],
  ];
  return element(
    "dl",
    { class: "tiles" },
    ...shown.map(([term, value]) => element("div", {}, element("dt", {}, term), element("dd", {}, value))),
  );
}

const whose = { all: "Everybody together", channel: "Channel", user: "Person" };

function budgetsOf({ budgets }) {
  if (budgets.length === 0) {
    const how =
      "No budget is set: whoever may write may also spend. Set budgets in heddle.yaml (docs/configuration.md).";
    return section("Budgets of today", emptyNote(how));
  }
  const lines = budgets.map(({ dimension, id, measure, limit, used, held }) => {
    const format = measure === "cost" ? formatCost : formatShort;
    const left = Math.max(0, limit - used - held);
    const [sign, word] =
      left === 0
        ? ["failed", "used up"]
        : (used + held) / limit >= 0.8
          ? ["waiting", "nearly used up"]
          : ["answered", "has room"];
    return element(
      "li",
      {},
      element("span", { class: "bar-name" }, `${whose[dimension]} ${id}`),
      chip(sign, word),
      meter(used / limit, held / limit),
      element(
        "span",
        { class: "soft" },
        `${format(used)} of ${format(limit)} used${held ? `, ${format(held)} set aside` : ""}; ${format(left)} left`,
      ),
    );
  });
  return section("Budgets of today", element("ul", { class: "budgets" }, ...lines));
}
