/** A tool call as a line that unfolds to what it was given and what came of it. */
import type { ShownCall } from "../../../../chat/outbound.ts";
import type { CallDetails, CallLine } from "../../../../operations/operations.ts";
import { messageOf } from "../transport.ts";
import { argumentValues, innerTitle, renderArguments, renderTitledText } from "../call-parts.ts";
import { type Child, element, icon, redraw, timeElement } from "../dom.ts";
import { showElapsed } from "../elapsed.ts";
import { formatCost, formatDuration, pluralize } from "../format.ts";
import { callStateOf, resultOf } from "../states.ts";
import { renderTerminal } from "../terminal.ts";

type CallContent = Pick<
  ShownCall,
  "name" | "about" | "state" | "notRun" | "startedAt" | "tookMs" | "output" | "result"
>;

/** A line of the journal as a message would show it. */
export function toContent({
  name,
  arguments: input,
  status,
  exit,
  startedAt,
  tookMs,
}: CallLine): CallContent {
  const notRun = notRuns.find((known) => known === status);
  const state =
    callStates.find((known) => known === status) ?? (startedAt === undefined ? "pending" : "running");
  return {
    ...{ name, about: [argumentValues(input.text), exit].filter(Boolean).join(" · ") },
    state: exit === undefined && notRun === undefined ? state : "error",
    ...(notRun && { notRun }),
    ...(tookMs !== undefined && { tookMs }),
  };
}

const notRuns = ["denied", "undecided"] as const;
const callStates = ["ok", "error", "partial", "stopped", "unknown"] as const;

export class CallFold {
  readonly line = element("li");
  readonly #plain = element("div", { class: "head" });
  readonly #summary = element("summary", { class: "head" });
  readonly #output = element("pre", {
    class: "output",
    tabindex: "0",
    "aria-label": "Output so far",
    hidden: true,
  });
  readonly #body = element("div", { class: "call" });
  readonly #fold = element("details", {}, this.#summary, this.#body);
  readonly #find: () => Promise<CallDetails | undefined> | undefined;
  #content: CallContent | undefined;
  /** The state in which its details were asked for. */
  #asked = "";

  /** @param find resolves to what the journal knows of the call */
  constructor(find: () => Promise<CallDetails | undefined> | undefined) {
    this.#find = find;
    this.#fold.addEventListener("toggle", () => void this.#unfold());
  }

  show(content: CallContent, canUnfold: boolean): void {
    this.#content = content;
    const { name, about, state, notRun, startedAt, tookMs, output } = content;
    const [sign, word] = callStateOf(notRun ?? state);
    const head = canUnfold ? this.#summary : this.#plain;
    redraw(head, [name, about, state, notRun, startedAt, tookMs], () => [
      element("span", { class: `sign ${sign}` }, icon(sign)),
      element("code", { class: "tool" }, name),
      element("span", { class: "about" }, about),
      // What went well needs no word, but for those who hear it.
      element("span", { class: state === "ok" ? "unseen" : "soft" }, word),
      ...(state === "running" && startedAt !== undefined ? [showElapsed(startedAt)] : []),
      ...(tookMs === undefined ? [] : [element("span", { class: "soft" }, formatDuration(tookMs))]),
    ]);
    const shown = canUnfold ? this.#fold : this.#plain;
    if (this.line.firstChild !== shown) this.line.replaceChildren(shown, this.#output);
    this.#showOutput(output ?? "");
    void this.#unfold();
  }

  /** What is being printed is seen without unfolding. */
  #showOutput(output: string): void {
    const followsEnd = this.#output.scrollHeight - this.#output.scrollTop - this.#output.clientHeight < 20;
    this.#output.hidden = output.trim() === "";
    redraw(this.#output, output, () => renderTerminal(output.trimEnd()));
    if (followsEnd) this.#output.scrollTop = this.#output.scrollHeight;
  }

  async #unfold(): Promise<void> {
    const state = this.#content?.state ?? "";
    if (!this.#fold.open || this.#asked === state) return;
    this.#asked = state;
    if (!this.#body.firstChild) this.#body.append(element("p", { class: "soft" }, "Loading…"));
    const { result = "" } = this.#content ?? {};
    const known = result ? [renderTitledText("Result", { text: result, omitted: 0 })] : [];
    try {
      const details = await this.#find();
      if (this.#asked !== state) return;
      const unknown = element("p", { class: "soft" }, "The journal has nothing of this call yet.");
      this.#body.replaceChildren(
        ...(details ? renderDetails(details) : known.length > 0 ? known : [unknown]),
      );
    } catch (error) {
      // Unfolded once more, it is asked for again.
      this.#asked = "";
      const failed = element("p", { class: "failure", role: "alert" }, messageOf(error));
      this.#body.replaceChildren(...(known.length > 0 ? known : [failed]));
    }
  }
}

function renderDetails(details: CallDetails): Child[] {
  const { name, arguments: input, result, images = 0, inner } = details;
  const facts = element("p", { class: "figures" }, ...factsOf(details));
  const output = result && name === "bash" ? withoutExit(result) : result;
  return [
    facts,
    ...renderArguments(input),
    ...(inner ? [element("h4", {}, innerTitle(inner)), ...inner.calls.map(renderInner)] : []),
    ...(output ? [renderTitledText("Result", output, images ? ` · ${pluralize(images, "image")}` : "")] : []),
  ];
}

/** How it ended is told above its output. */
function withoutExit({ text, omitted }: NonNullable<CallDetails["result"]>) {
  return { text: text.replace(/^exit code \d[^\n]*\n/, ""), omitted };
}

function factsOf({ name, status, exit, startedAt, tookMs, figures }: CallDetails): HTMLElement[] {
  const word = status === undefined ? "not ended" : resultOf(status)[1];
  const success = name === "bash" && status === "ok" ? "exit code 0" : word;
  return [
    element("span", {}, exit ?? success),
    ...(tookMs === undefined ? [] : [element("span", {}, formatDuration(tookMs))]),
    ...(startedAt === undefined ? [] : [element("span", {}, "started ", timeElement(startedAt))]),
    ...(figures ? [element("span", {}, formatCost(figures.cost, figures.priceUnknown))] : []),
  ];
}

function renderInner({
  name,
  arguments: input,
  status,
  exit,
  text,
  tookMs,
}: NonNullable<CallDetails["inner"]>["calls"][number]): HTMLElement {
  const fold = new CallFold(async () => ({
    ...{ name, arguments: input, status, tookMs, result: text },
    ...(exit !== undefined && { exit }),
  }));
  fold.show(
    toContent({
      key: "",
      id: "",
      name,
      arguments: input,
      status,
      tookMs,
      ...(exit !== undefined && { exit }),
    }),
    true,
  );
  return element("div", {}, ...fold.line.childNodes);
}
