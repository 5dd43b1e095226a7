/** The tool calls of a message, each with what it was given and what came of it folded away. */
import type { CallList as ShownCalls, ShownCall } from "../../../../chat/outbound.ts";
import { messageOf } from "../transport.ts";
import { element, redraw } from "../dom.ts";
import { pluralize } from "../format.ts";
import { showMarkdown } from "../markdown/render.ts";
import { CallFold, toContent } from "./call-fold.ts";
import { TurnCalls } from "./turn-calls.ts";

/** What is unfolded stays so, and the focus stays where it is, while the message changes. */
export class CallList {
  readonly #above = element("div", { class: "part" });
  readonly #earlier = element("details", { class: "earlier", hidden: true });
  readonly #list = element("ol", { class: "calls" });
  readonly #below = element("div", { class: "part below" });
  readonly #folds = new Map<string, CallFold>();
  #earlierCalls = 0;
  #items: readonly ShownCall[] = [];
  #turn: { id: string; calls: TurnCalls } | undefined;
  /** What the body of the message consists of. */
  readonly parts = [this.#above, this.#earlier, this.#list, this.#below];

  constructor() {
    this.#earlier.addEventListener("toggle", () => void this.#showEarlier());
  }

  /** @param thread of any platform, with its whole address */
  show(thread: string, { above, items, below, turn, earlier = 0 }: ShownCalls): void {
    this.#items = items;
    if (turn !== undefined && turn !== this.#turn?.id)
      this.#turn = { id: turn, calls: new TurnCalls(thread, turn) };
    showMarkdown(this.#above, above, { signed: true });
    showMarkdown(this.#below, below, { signed: false });
    this.#earlier.hidden = earlier === 0;
    if (!this.#earlier.firstChild)
      this.#earlier.append(element("summary"), element("ol", { class: "calls" }));
    const [summary] = this.#earlier.children;
    if (summary) redraw(summary, earlier, () => [pluralize(earlier, "earlier call")]);
    if (earlier !== this.#earlierCalls) void this.#showEarlier();
    this.#earlierCalls = earlier;
    this.#showItems(items);
  }

  #showItems(items: readonly ShownCall[]): void {
    const shown = new Set(items.map(({ id }) => id));
    for (const [id, fold] of this.#folds) {
      if (shown.has(id)) continue;
      fold.line.remove();
      this.#folds.delete(id);
    }
    for (const item of items) {
      let fold = this.#folds.get(item.id);
      if (!fold) {
        fold = new CallFold(() => this.#turn?.calls.find(this.#items, item.id));
        this.#folds.set(item.id, fold);
        this.#list.append(fold.line);
      }
      const canUnfold = item.result !== undefined || (this.#turn !== undefined && item.callId !== undefined);
      fold.show(item, canUnfold);
    }
  }

  async #showEarlier(): Promise<void> {
    const list = this.#earlier.lastElementChild;
    if (!this.#earlier.open || !list || !this.#turn) return;
    const { calls } = this.#turn;
    try {
      const lines = await calls.before(this.#items);
      const known = list.childElementCount;
      list.querySelector(".failure")?.remove();
      for (const line of lines.slice(known)) {
        const fold = new CallFold(() => calls.details(line));
        fold.show(toContent(line), true);
        list.append(fold.line);
      }
    } catch (error) {
      list.replaceChildren(element("li", { class: "failure", role: "alert" }, messageOf(error)));
    }
  }
}
