/** The box to write in. Enter sends, Shift+Enter begins a new line. */
import { randomId } from "../random-id.ts";
import { Attachments, noFiles } from "./attachments.ts";
import { byId } from "../dom.ts";
import { formatCount } from "../format.ts";
import { readLocal, readTab, storeLocal, storeTab } from "../local-store.ts";
import { showDone, showToast } from "../toast.ts";

/** Resolves to the thread that has accepted the message, or to null. */
type Send = (text: string, key: string, files: File[]) => Promise<string | null>;

/** What is being sent and its key: sending it again after a failure must not say it twice. */
interface Attempt {
  text: string;
  files: File[];
  key: string;
}

/** Nor after a reload, which keeps no files. */
const attemptKey = "heddle sending";

/** What the server takes as the text of a message: conversation-routes.ts. */
const mostChars = 100_000;

export class Composer {
  readonly #text = byId("text", HTMLTextAreaElement);
  readonly #button = byId("send", HTMLButtonElement);
  readonly #send: Send;
  #attempt = readAttempt();
  #busy = false;
  /** Under which the draft is kept: a reload, or another thread, must not lose it. */
  #draft = draftKey(null);
  readonly #attachments = new Attachments(showToast, () => this.#fit());

  constructor(send: Send) {
    this.#send = send;
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#submit();
    });
    this.#text.addEventListener("keydown", (event) => {
      // Enter also ends the choice of a character in an input method.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      void this.#submit();
    });
    this.#text.addEventListener("beforeinput", (event) => this.#attachLong(event));
    this.#text.addEventListener("input", () => {
      // Whoever empties the box and writes the same words means another message.
      if (this.#text.value === "" && !this.#busy) this.#forgetAttempt();
      this.#fit();
    });
    this.open(null);
  }

  /** Shows the draft of a thread with its files; null for that of a new one. */
  open(thread: string | null): void {
    this.#draft = draftKey(thread);
    this.#text.value = readLocal(this.#draft) ?? "";
    this.#attachments.open(this.#draft);
  }

  focus(): void {
    this.#text.focus();
  }

  /** Puts a text into the box, behind what is there. */
  edit(text: string): void {
    const draft = this.#text.value.trim();
    this.#text.value = draft === "" || draft === text ? text : `${draft}\n\n${text}`;
    this.#text.focus();
    this.#text.setSelectionRange(this.#text.value.length, this.#text.value.length);
    this.#fit();
  }

  /** Sends a text that nobody has typed: what is in the box stays there. */
  async say(text: string): Promise<void> {
    await this.#deliver(text, noFiles);
  }

  /** What is pasted or dropped and makes the text too long goes along as a file: a limit of the box would cut it off. */
  #attachLong(event: InputEvent): void {
    const { value, selectionStart, selectionEnd } = this.#text;
    const inserted = event.data ?? "";
    const isPasted = event.inputType === "insertFromPaste" || event.inputType === "insertFromDrop";
    const chars = value.length - (selectionEnd - selectionStart) + inserted.length;
    if (!isPasted || chars <= mostChars) return;
    event.preventDefault();
    this.#attach(inserted, "pasted");
  }

  /** False where it does not fit as a file either, which is said. */
  #attach(text: string, name: string): boolean {
    const attached = this.#attachments.addText(text, name);
    if (attached === null) return false;
    showDone(
      `A message takes ${formatCount(mostChars)} characters, so these ${formatCount(text.length)} go along as ${attached}. Say what to do with it.`,
    );
    return true;
  }

  async #submit(): Promise<void> {
    const text = this.#text.value.trim();
    if (text.length > mostChars) {
      if (this.#attach(text, "message")) this.#text.value = "";
      return this.#fit();
    }
    const { files } = this.#attachments;
    if (text === "" && files.length === 0) return;
    const draft = this.#draft;
    const thread = await this.#deliver(text, files);
    if (thread !== null) this.#attachments.forgetLost(draft);
    if (thread !== null && draft === draftKey(null)) this.#moveTo(thread);
  }

  /** Resolves to the thread that has accepted it, or to null. */
  async #deliver(text: string, files: File[]): Promise<string | null> {
    if (this.#busy) return null;
    if (text !== this.#attempt.text || files !== this.#attempt.files)
      this.#attempt = { text, files, key: randomId() };
    if (files === noFiles && text === this.#text.value.trim())
      storeTab(attemptKey, JSON.stringify({ text, key: this.#attempt.key }));
    const draft = this.#draft;
    this.#busy = true;
    this.#attachments.sending = draft;
    this.#button.disabled = true;
    const thread = await this.#send(text, this.#attempt.key, files);
    this.#busy = false;
    this.#attachments.sending = null;
    if (thread !== null) {
      this.#forgetAttempt();
      // Another thread may have been opened meanwhile, with a draft of its own.
      if (readLocal(draft)?.trim() === text) storeLocal(draft, undefined);
      if (this.#draft === draft && this.#text.value.trim() === text) this.#text.value = "";
      this.#attachments.drop(draft, files);
    }
    this.#fit();
    this.#text.focus();
    return thread;
  }

  #forgetAttempt(): void {
    storeTab(attemptKey, undefined);
    this.#attempt = readAttempt();
  }

  /** The first message of a new thread has opened it: what was written and attached meanwhile goes along. */
  #moveTo(thread: string): void {
    const [from, to] = [draftKey(null), draftKey(thread)];
    const rest = this.#draft === from ? this.#text.value : (readLocal(from) ?? "");
    if (this.#draft === from) this.#text.value = "";
    storeLocal(from, undefined);
    if (rest.trim() !== "" && this.#draft === to) this.edit(rest);
    else if (rest.trim() !== "") storeLocal(to, rest);
    this.#attachments.move(from, to);
  }

  #fit(): void {
    storeLocal(this.#draft, this.#text.value.trim() === "" ? undefined : this.#text.value);
    const empty = this.#text.value.trim() === "" && this.#attachments.files.length === 0;
    this.#button.disabled = this.#busy || empty;
    this.#text.style.height = "auto";
    this.#text.style.height = `${this.#text.scrollHeight}px`;
  }
}

/** What was being sent when the page was reloaded, or nothing. */
function readAttempt(): Attempt {
  return { text: "", key: "", files: noFiles, ...JSON.parse(readTab(attemptKey) ?? "{}") };
}

function draftKey(thread: string | null): string {
  return `heddle draft ${thread ?? "new"}`;
}
