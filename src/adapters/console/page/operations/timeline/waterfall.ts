/** A turn as bars over time: the model, its tools, and waiting for people. */
import type { TurnSpan } from "../../../../../operations/operations.ts";
import { getSpans } from "../../api.ts";
import { messageOf } from "../../transport.ts";
import { element } from "../../dom.ts";
import { formatCost, formatDuration, formatShort, pluralize, sumTokens } from "../../format.ts";

const kindWords = { model: "Model", tool: "Tools", waiting: "Waiting for people" } as const;

/** Below the heading of a turn; fetched when it is unfolded. `onPick` goes to the record of a bar. */
export function waterfall(thread: string, turn: string, onPick: (position: number) => void): HTMLElement {
  const body = element("div", { class: "waterfall-body" });
  const fold = element(
    "details",
    { class: "waterfall" },
    element("summary", {}, "Where its time went"),
    body,
  );
  const show = async () => {
    if (!fold.open) return;
    try {
      const spans = await getSpans(thread, turn);
      body.replaceChildren(
        ...(spans.length > 0 ? renderSpans(spans, onPick) : ["Nothing has been done in it yet."]),
      );
    } catch (error) {
      body.replaceChildren(element("p", { class: "failure", role: "alert" }, messageOf(error)));
    }
  };
  fold.addEventListener("toggle", () => void show());
  return fold;
}

function renderSpans(spans: readonly TurnSpan[], onPick: (position: number) => void): HTMLElement[] {
  const start = Math.min(...spans.map(({ from }) => from));
  const whole = Math.max(1, Math.max(...spans.map(({ to }) => to)) - start);
  const rows = spans.map((span) => renderSpan(span, start, whole, onPick));
  const shares = (Object.keys(kindWords) as (keyof typeof kindWords)[]).flatMap((kind) => {
    const alike = spans.filter((span) => span.kind === kind);
    const took = sumTime(alike);
    if (alike.length === 0) return [];
    return [
      element("span", { class: `span-share kind-${kind}` }, `${kindWords[kind]} ${formatDuration(took)}`),
    ];
  });
  const total = element("span", {}, `${formatDuration(whole)} in all, ${pluralize(spans.length, "part")}`);
  return [element("p", { class: "figures" }, total, ...shares), element("ol", {}, ...rows)];
}

/** What is done side by side counts once. */
function sumTime(spans: readonly TurnSpan[]): number {
  let [sum, until] = [0, -Infinity];
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    sum += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return sum;
}

function renderSpan(
  { kind, name, position, from, to, isFailed, step, figures }: TurnSpan,
  start: number,
  whole: number,
  onPick: (position: number) => void,
): HTMLElement {
  const bar = element("span", { class: `span-bar kind-${kind} ${isFailed ? "has-failed" : ""}` });
  bar.style.setProperty("--from", String((from - start) / whole));
  bar.style.setProperty("--part", String((to - from) / whole));
  const cost = figures
    ? ` · ${formatShort(sumTokens(figures))} tokens · ${formatCost(figures.cost, figures.priceUnknown)}`
    : "";
  const what = step === undefined ? name : `Step ${step}`;
  const about = `${formatDuration(to - from)}${cost}${isFailed ? " · failed" : ""}`;
  const button = { type: "button", onclick: () => onPick(position), title: `${name}, ${about}` };
  return element(
    "li",
    {},
    element(
      "button",
      button,
      element("span", { class: "span-name" }, what),
      element("span", { class: "track", "aria-hidden": "true" }, bar),
      element("span", { class: "span-about" }, about),
    ),
  );
}
