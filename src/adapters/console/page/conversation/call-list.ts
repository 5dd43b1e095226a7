/** The tool calls of a message, each with its result folded away where it has one. */
import type { CallList as ShownCalls, ShownCall } from "../../../../chat/outbound.ts";
import { element, icon } from "../dom.ts";
import { showMarkdown } from "../markdown/render.ts";
import { callStateOf } from "../states.ts";

/** What is unfolded stays so, and the focus stays where it is, while the message changes. */
export class CallList {
  readonly #above = element("div", { class: "part" });
  readonly #list = element("ol", { class: "calls" });
  readonly #below = element("div", { class: "part below" });
  readonly #lines = new Map<string, ReturnType<typeof callLine>>();
  /** What the body of the message consists of. */
  readonly parts = [this.#above, this.#list, this.#below];

  show({ above, items, below }: ShownCalls): void {
    showMarkdown(this.#above, above, { signed: true });
    showMarkdown(this.#below, below, { signed: false });
    const shown = new Set(items.map(({ id }) => id));
    for (const [id, { line }] of this.#lines) {
      if (shown.has(id)) continue;
      line.remove();
      this.#lines.delete(id);
    }
    for (const item of items) {
      let call = this.#lines.get(item.id);
      if (!call) {
        call = callLine();
        this.#lines.set(item.id, call);
        this.#list.append(call.line);
      }
      call.show(item);
    }
  }
}

function callLine() {
  const line = element("li");
  const plain = element("div", { class: "head" });
  const summary = element("summary", { class: "head" });
  const result = element("pre", { tabindex: "0" });
  const fold = element("details", {}, summary, result);
  let shown = "";
  const show = (item: ShownCall) => {
    if (JSON.stringify(item) === shown) return;
    shown = JSON.stringify(item);
    const { name, about, state, result: text } = item;
    const [sign, word] = callStateOf(state);
    const head = text === undefined ? plain : summary;
    head.replaceChildren(
      element("span", { class: `sign ${sign}` }, icon(sign)),
      element("code", { class: "tool" }, name),
      element("span", { class: "about" }, about),
      // What went well needs no word, but for those who hear it.
      element("span", { class: state === "ok" ? "unseen" : "soft" }, word),
    );
    result.textContent = text ?? "";
    const content = text === undefined ? plain : fold;
    if (line.firstChild !== content) line.replaceChildren(content);
  };
  return { line, show };
}
