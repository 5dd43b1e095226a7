/** What was used: by day, channel, person and model, and what is left of the budgets of today. */
import { getUsage } from "./api.js";
import { bars, columns, figure, meter } from "./chart.js";
import { element } from "./dom.js";
import { counted, formatCost, formatCount, formatShort, tokensOf } from "./format.js";
import { chip, emptyNote, failure, section, table } from "./report.js";

const measures = {
  cost: { name: "Cost", of: ({ cost }) => cost, format: (value) => formatCost(value) },
  tokens: { name: "Tokens", of: tokensOf, format: (value) => formatShort(value) },
  turns: { name: "Turns", of: ({ turns }) => turns, format: (value) => formatShort(value) },
};

/** Shows the page in `root`; returns what ends it. */
export function openUsage(root) {
  let period = 14;
  let measure;
  let report;
  let closed = false;
  let drawn = 0;
  const body = element("div", {}, emptyNote("Loading…"));
  const choose = (label, options, chosen, act) =>
    element(
      "select",
      { "aria-label": label, onchange: (event) => act(event.target.value) },
      ...options.map(([value, words]) => element("option", { value, selected: value === chosen }, words)),
    );
  const periods = [7, 14, 30, 90].map((count) => [String(count), `${count} days`]);
  const kinds = Object.entries(measures).map(([value, { name }]) => [value, name]);
  const kindOf = choose("Measure", kinds, "cost", (value) => {
    measure = value;
    if (report) show();
  });
  root.replaceChildren(
    element(
      "div",
      { class: "tools" },
      choose("Period", periods, "14", (value) => {
        period = Number(value);
        void load();
      }),
      kindOf,
    ),
    body,
  );
  void load();

  async function load() {
    const wanted = period;
    try {
      const found = await getUsage(wanted);
      if (closed || wanted !== period) return;
      report = found;
      show();
    } catch (error) {
      if (!closed) body.replaceChildren(failure(error, load));
    }
  }

  function show() {
    drawn = body.clientWidth;
    // Models of one's own cost nothing, and say most by their tokens.
    measure ??= report.days.some(({ cost }) => cost > 0) ? "cost" : "tokens";
    kindOf.value = measure;
    const { name, of, format } = measures[measure];
    const oldest = report.days.toReversed();
    const days = oldest.map(({ day }) => day);
    const values = oldest.map(of);
    const total = values.reduce((sum, value) => sum + value, 0);
    const used = report.days.some(({ calls, liked, disliked }) => calls + liked + disliked > 0);
    const about = { name, measure, of, format, days, room: body.clientWidth };
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
                `${format(total)} in ${counted(days.length, "day")}, time zone ${report.timeZone}`,
              ),
              figure(
                `${name} by day`,
                [
                  columns(`${name} by day`, {
                    ...{ days, format, room: body.clientWidth - figurePadding },
                    series: [{ name: "", dye: "", values }],
                  }),
                ],
                [
                  ["Day", false],
                  [name, true],
                ],
                days.map((day, index) => [day, format(values[index])]),
              ),
            ),
            ...sharesOf("channel", report.channels, about),
            ...sharesOf("person", report.users, about),
            ...sharesOf("model", report.models, about),
            ...opinionsOf(report.models),
          ]
        : [emptyNote("Nothing was used in these days. Choose a longer period, or begin a thread.")]),
    );
  }

  // A window that has become another, or a phone that was turned: words must not shrink with the drawing.
  const sizes = new ResizeObserver(() => report && Math.abs(body.clientWidth - drawn) > 60 && show());
  sizes.observe(body);
  return () => {
    closed = true;
    sizes.disconnect();
  };
}

const figurePadding = 34;

/** Who or what used how much, over time and in all. */
function sharesOf(what, list, { name, measure, of, format, days, room }) {
  if (list.length === 0) return [];
  const platforms = new Set(list.flatMap(({ id }) => (id ? [id.split(":")[0]] : [])));
  const series = list.map((share, index) => ({
    ...{ id: share.id, name: labelOf(share, platforms.size > 1), value: of(share) },
    dye: share.id ? `dye-${index}` : "dye-rest",
    values: share.daily[measure].toReversed(),
  }));
  const title = `${name} by ${what}`;
  const wide = room > 760;
  const drawing = columns(`${title} and day`, {
    ...{ days, series, format },
    room: (wide ? room * 0.6 : room) - figurePadding,
  });
  const drawings = element("div", { class: "share" }, drawing, bars(series, format));
  const head = [["Day", false], ...series.map((one) => [one.name, true])];
  const rows = [
    ...days.map((day, index) => [day, ...series.map(({ values }) => format(values[index]))]),
    ["All days", ...series.map(({ value }) => format(value))],
  ];
  return [section(title, figure(title, [drawings], head, rows))];
}

/** The name where one is known, else the id as its platform knows it; models have no other name. */
function labelOf({ id, name }, tellsPlatform = true) {
  if (id === "") return "All others";
  const [platform, , ...rest] = id.split(":");
  if (rest.length === 0) return id;
  return `${name ?? rest.join(":")}${tellsPlatform ? ` · ${platform}` : ""}`;
}

function opinionsOf(models) {
  const rated = models.filter(({ liked, disliked }) => liked + disliked > 0);
  if (rated.length === 0) return [];
  const head = [
    ["Model", false],
    ["👍", true],
    ["👎", true],
  ];
  const rows = rated.map(({ id, liked, disliked }) => [id, formatCount(liked), formatCount(disliked)]);
  return [section("Opinions of answers", table("Opinions of answers", head, rows))];
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
    ["From caches", prompt ? `${Math.round((100 * sum(({ cacheRead }) => cacheRead)) / prompt)} %` : "–"],
    ["Turns", formatCount(sum(({ turns }) => turns))],
    ["Model calls", formatCount(sum(({ calls }) => calls))],
    ["Liked · not liked", `${sum(({ liked }) => liked)} · ${sum(({ disliked }) => disliked)}`],
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
      "No budget is set: whoever may write may also spend. Set budgets in heddle.yaml (docs/rules.md).";
    return section("Budgets of today", emptyNote(how));
  }
  const lines = budgets.map(({ dimension, id, name, measure, limit, used, held }) => {
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
      element(
        "span",
        { class: "bar-name", title: id },
        id ? `${whose[dimension]} ${labelOf({ id, name })}` : whose.all,
      ),
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
