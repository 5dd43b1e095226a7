/** One tool call of a timeline, folded: a line that tells how it went, behind it the arguments and the result. */
import type { Excerpt } from "../../../../../operations/finding.ts";
import type { TimelineEntry } from "../../../../../operations/timeline/timeline-entry.ts";
import { argumentValues, innerTitle, renderArguments, renderTitledText } from "../../call-parts.ts";
import { element, icon } from "../../dom.ts";
import { formatDuration, pluralize } from "../../format.ts";
import { resultOf } from "../../states.ts";
import { figuresOf, imagesOf } from "./entry-parts.ts";

export type ToolResult = Extract<TimelineEntry, { kind: "tool-result" }>;

/** Also of a call that a sub-agent made, of which less is known. */
type Outcome = Pick<ToolResult, "status" | "text" | "tookMs"> &
  Partial<Pick<ToolResult, "exit" | "figures" | "images" | "inner">>;

export interface ToolCallView {
  readonly element: HTMLElement;
  showStart(): void;
  showResult(result: Outcome): void;
}

export function toolCall(name: string, input: Excerpt): ToolCallView {
  const sign = element("span", { class: "sign" });
  const state = element("span", { class: "soft" }, "not started");
  const head = element(
    "summary",
    {},
    sign,
    element("code", { class: "tool" }, name),
    element("span", { class: "about" }, argumentValues(input.text)),
    state,
  );
  const body = element("div", { class: "call" });
  let ended = false;
  body.append(...renderArguments(input));
  return {
    element: element("details", { class: "tool-call" }, head, body),
    showStart() {
      // An older page of records may bring the start of a call whose result is on a newer one.
      if (ended) return;
      sign.replaceChildren(icon("taken"));
      state.textContent = "running";
    },
    showResult({ status, exit, text, tookMs, figures, images, inner }) {
      ended = true;
      const [mark, word] = exit === undefined ? resultOf(status) : (["failed", exit] as const);
      sign.className = `sign ${mark}`;
      sign.replaceChildren(icon(mark));
      const more = inner ? ` · ${pluralize(inner.omitted + inner.calls.length, "call")}` : "";
      state.textContent = `${word} · ${formatDuration(tookMs)}${more}`;
      if (inner) body.append(...innerCalls(inner));
      body.append(
        renderTitledText("Result", text, imagesOf(images)),
        ...(figures ? [figuresOf(figures)] : []),
      );
    },
  };
}

/** What a sub-agent did, below the call that started it. */
function innerCalls(inner: NonNullable<ToolResult["inner"]>): HTMLElement[] {
  const shown = inner.calls.map((one) => {
    const call = toolCall(one.name, one.arguments);
    call.showResult(one);
    return call.element;
  });
  return [element("h4", {}, innerTitle(inner)), ...shown];
}
