/** What was used: by day, channel, person, trigger and model, and what is left of the budgets of today. */
import type { BudgetLine, UsageReport, UsageShare } from "../../../../operations/reports.ts";
import { getUsage } from "../api.ts";
import { element } from "../dom.ts";
import { formatCost, formatCount, formatShort, pluralize, sumTokens } from "../format.ts";
import type { State } from "../states.ts";
import { bars, columns, figure, meter } from "./chart.ts";
import { chip, type Column, emptyNote, failure, section, table } from "./report.ts";
import { namePlatform } from "./thread-words.ts";

type Day = UsageReport["days"][number];

interface Measure {
  name: string;
  of(used: Day | UsageShare): number;
  format(value: number): string;
}

type MeasureName = keyof UsageShare["daily"];

const measures: Record<MeasureName, Measure> = {
  cost: { name: "Cost", of: ({ cost }) => cost, format: (value) => formatCost(value) },
  tokens: { name: "Tokens", of: sumTokens, format: formatShort },
  turns: { name: "Turns", of: ({ turns }) => turns, format: formatShort },
};

/** What is drawn: one measure over these days, as wide as there is room. */
interface Drawing extends Measure {
  measure: MeasureName;
  days: string[];
  room: number;
}

/** Shows the page in `root`; returns what ends it. */
export function openUsage(root: HTMLElement): () => void {
  let period = 14;
  let measure: MeasureName | undefined;
  let report: UsageReport | undefined;
  let closed = false;
  let drawn = 0;
  const body = element("div", {}, emptyNote("Loading…"));
  const periods = [7, 14, 30, 90].map((count) => option(String(count), `${count} days`, count === period));
  const periodSelect = element("select", { "aria-label": "Period" }, ...periods);
  periodSelect.addEventListener("change", () => {
    period = Number(periodSelect.value);
    void load();
  });
  const kinds = Object.entries(measures).map(([value, { name }]) => option(value, name, value === "cost"));
  const measureSelect = element("select", { "aria-label": "Measure" }, ...kinds);
  measureSelect.addEventListener("change", () => {
    const { value } = measureSelect;
    measure = value === "tokens" || value === "turns" ? value : "cost";
    if (report) show(report);
  });
  root.replaceChildren(element("div", { class: "tools" }, periodSelect, measureSelect), body);
  void load();

  async function load(): Promise<void> {
    const wanted = period;
    try {
      const found = await getUsage(wanted);
      if (closed || wanted !== period) return;
      report = found;
      show(found);
    } catch (error) {
      if (!closed) body.replaceChildren(failure(error, load));
    }
  }

  function show({ days: used, channels, users, triggers, models, budgets, timeZone }: UsageReport): void {
    drawn = body.clientWidth;
    // Models of one's own cost nothing, and say most by their tokens.
    measure ??= used.some(({ cost }) => cost > 0) ? "cost" : "tokens";
    measureSelect.value = measure;
    const days = used.map(({ day }) => day).toReversed();
    const drawing = { ...measures[measure], measure, days, room: drawn };
    body.replaceChildren(
      budgetsOf(budgets),
      ...(used.some(({ calls, liked, disliked }) => calls + liked + disliked > 0)
        ? [
            tiles(used),
            totalOf(used, timeZone, drawing),
            ...sharesOf("channel", channels, drawing),
            ...sharesOf("person", users, drawing),
            ...sharesOf("trigger", triggers, drawing),
            ...sharesOf("model", models, drawing),
            ...opinionsOf(models),
          ]
        : [emptyNote("No usage in this period. Choose a longer one, or start a thread.")]),
    );
  }

  // A window that has become another, or a phone that was turned: words must not shrink with the drawing.
  const sizes = new ResizeObserver(() => {
    if (report && Math.abs(body.clientWidth - drawn) > 60) show(report);
  });
  sizes.observe(body);
  return () => {
    closed = true;
    sizes.disconnect();
  };
}

const figurePadding = 34;

function option(value: string, text: string, selected: boolean): HTMLElement {
  return element("option", { value, selected }, text);
}

/** Of everybody together. */
function totalOf(used: Day[], timeZone: string, { name, of, format, days, room }: Drawing): HTMLElement {
  const values = used.map(of).toReversed();
  const total = values.reduce((sum, value) => sum + value, 0);
  const title = `${name} by day`;
  const period = `${format(total)} in ${pluralize(days.length, "day")}, time zone ${timeZone}`;
  const series = [{ name: "", color: "", values }];
  const drawing = columns(title, { days, format, series, room: room - figurePadding });
  const head: Column[] = [
    ["Day", false],
    [name, true],
  ];
  const rows = days.map((day, index) => [day, format(values[index] ?? 0)]);
  return section(title, element("p", { class: "soft" }, period), figure(title, drawing, head, rows));
}

/** Who or what used how much, over time and in all. */
function sharesOf(what: string, list: UsageShare[], about: Drawing): HTMLElement[] {
  const { name, measure, of, format, days, room } = about;
  if (list.length === 0) return [];
  const platforms = new Set(list.flatMap(({ id }) => (id ? [id.replace(heard, "").split(":")[0]] : [])));
  const series = list.map((share, index) => ({
    ...{ id: share.id, name: labelOf(share, platforms.size > 1), value: of(share) },
    color: share.id ? `color-${index}` : "color-rest",
    values: share.daily[measure].toReversed(),
  }));
  const title = `${name} by ${what}`;
  const wide = room > 760;
  const drawing = columns(`${title} and day`, {
    ...{ days, series, format },
    room: (wide ? room * 0.6 : room) - figurePadding,
  });
  const both = element("div", { class: "share" }, drawing, bars(series, format));
  const head: Column[] = [["Day", false], ...series.map((one): Column => [one.name, true])];
  const rows = [
    ...days.map((day, index) => [day, ...series.map(({ values }) => format(values[index] ?? 0))]),
    ["Total", ...series.map(({ value }) => format(value))],
  ];
  return [section(title, figure(title, both, head, rows))];
}

/** Begins the id of a watched channel among those of triggers. */
const heard = "watch:";

/** The name where one is known, else the id as its platform knows it; models and triggers have no other name. */
function labelOf({ id, ...named }: { id: string; name?: string }, tellsPlatform = true): string {
  const { name } = named;
  if (id === "") return "All others";
  // What was heard in a channel is told from what a trigger of that name has brought.
  if (id.startsWith(heard))
    return `heard in ${labelOf({ ...named, id: id.slice(heard.length) }, tellsPlatform)}`;
  const [platform = "", , ...rest] = id.split(":");
  if (rest.length === 0) return id;
  const [own, place] = [name ?? rest.join(":"), namePlatform(platform)];
  return tellsPlatform && own !== place ? `${own} · ${place}` : own;
}

function opinionsOf(models: UsageShare[]): HTMLElement[] {
  const rated = models.filter(({ liked, disliked }) => liked + disliked > 0);
  if (rated.length === 0) return [];
  const head: Column[] = [
    ["Model", false],
    ["👍", true],
    ["👎", true],
  ];
  const rows = rated.map(({ id, liked, disliked }) => [id, formatCount(liked), formatCount(disliked)]);
  return [section("Feedback on answers", table("Feedback on answers", head, rows))];
}

/** What is little is not said to be nothing. */
function formatShare(part: number, whole: number): string {
  if (part === 0) return "–";
  const percent = Math.round((100 * part) / whole);
  return percent === 0 ? "under 1 %" : `${percent} %`;
}

function tiles(days: Day[]): HTMLElement {
  const sum = (of: (day: Day) => number) => days.reduce((total, day) => total + of(day), 0);
  const prompt = sum(({ input, cacheRead, cacheWrite }) => input + cacheRead + cacheWrite);
  const unknown = days.some(({ priceUnknown }) => priceUnknown);
  const cost = sum((day) => day.cost);
  const shown: [term: string, value: string][] = [
    ["Cost", formatCost(cost, unknown)],
    ["Tokens", formatShort(sum(sumTokens))],
    [
      "From cache",
      formatShare(
        sum(({ cacheRead }) => cacheRead),
        prompt,
      ),
    ],
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

const whose = { all: "Everyone", channel: "Channel", user: "Person", trigger: "Trigger" };

function budgetsOf(budgets: BudgetLine[]): HTMLElement {
  if (budgets.length === 0) {
    const how = "No budget is set, so spending has no limit. Set budgets in heddle.yaml (docs/rules.md).";
    return section("Today's budgets", emptyNote(how));
  }
  const lines = budgets.map((budget) => {
    const { dimension, id, measure, limit, used, held } = budget;
    const { format } = measures[measure];
    const left = Math.max(0, limit - used - held);
    const isLow = (used + held) / limit >= 0.8;
    const state: State =
      left === 0
        ? ["failed", "used up"]
        : isLow
          ? ["waiting", "nearly used up"]
          : ["answered", "within budget"];
    return element(
      "li",
      {},
      element(
        "span",
        { class: "bar-name", title: id },
        id ? `${whose[dimension]} ${labelOf(budget)}` : whose.all,
      ),
      chip(...state),
      meter(used / limit, held / limit),
      element(
        "span",
        { class: "soft" },
        `${format(used)} of ${format(limit)} used${held ? `, ${format(held)} reserved` : ""}; ${format(left)} left`,
      ),
    );
  });
  return section("Today's budgets", element("ul", { class: "budgets" }, ...lines));
}
