/**
 * A message in its place: near the view with all its parts, elsewhere as its text alone, which browsers find and screen
 * readers read in order, at a tenth of the elements. Parts that were drawn are kept, with what was unfolded in them.
 */
import type { ConsoleMessage } from "../../conversations/console-message.ts";
import { element } from "../dom.ts";
import { renderPlain } from "../markdown/render.ts";
import { classOf, type MessageHandlers, messageView, nameOf } from "./message-view.ts";

/** What a message is drawn for, beside what it says. */
export interface Surroundings {
  thread: string;
  /** A question is open. */
  asks: boolean;
}

/** Of a text that was never drawn, in pixels: what is around it, and a line of so many characters. */
const likely = { frame: 60, line: 26, chars: 85 };

export class MessageEntry {
  readonly article = element("article");
  readonly #handlers: MessageHandlers;
  #message: ConsoleMessage;
  #view: ReturnType<typeof messageView> | undefined;
  #isDrawn = false;

  constructor(message: ConsoleMessage, handlers: MessageHandlers) {
    this.#message = message;
    this.#handlers = handlers;
  }

  get message(): ConsoleMessage {
    return this.#message;
  }

  get isDrawn(): boolean {
    return this.#isDrawn;
  }

  update(message: ConsoleMessage, around: Surroundings): void {
    const isOther = !this.article.firstChild || textOf(message) !== textOf(this.#message);
    this.#message = message;
    if (this.#isDrawn) this.draw(around);
    else if (isOther) this.#outline(guessHeight(textOf(message)));
    else this.article.className = `${classOf(message)} far`;
  }

  /** With all its parts. */
  draw({ thread, asks }: Surroundings): void {
    this.#view ??= messageView(this.article, this.#handlers);
    if (!this.#isDrawn) {
      this.article.style.height = "";
      this.article.replaceChildren(...this.#view.parts);
    }
    this.#isDrawn = true;
    this.#view.show(thread, this.#message, asks);
  }

  /** As its text alone. @param height of what was drawn, in pixels, which it keeps */
  fold(height: number): void {
    this.#isDrawn = false;
    this.#outline(height);
  }

  #outline(height: number): void {
    this.article.className = `${classOf(this.#message)} far`;
    this.article.style.height = `${Math.round(height)}px`;
    // From message to message by the keys of a screen reader, also here.
    const name = element("span", { class: "name", role: "heading", "aria-level": 3 }, nameOf(this.#message));
    // In pieces where it would hold up the page: the first in view are laid out before they are drawn.
    this.article.replaceChildren(name, " ", ...renderPlain(textOf(this.#message)));
  }
}

function guessHeight(text: string): number {
  const lines = text
    .split("\n")
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / likely.chars)), 0);
  return likely.frame + lines * likely.line;
}

/** What somebody may look for in it: about as it is read. */
function textOf(message: ConsoleMessage): string {
  switch (message.kind) {
    case "person":
      return [message.text, ...(message.files ?? [])].join("\n");
    case "file":
      return message.name;
    default:
      return message.markdown
        .replaceAll(/\*\*|`+|^#+ /gm, "")
        .replaceAll(/\[([^[\]]{1,300})\]\([^()\s]{1,2000}\)/g, "$1");
  }
}
