/** The box to write in. Enter sends, Shift+Enter begins a new line. */
import { randomId } from "./api.js";
import { Attachments } from "./attachments.js";
import { byId } from "./dom.js";
import { note } from "./toast.js";

export class Composer {
  #text = byId("text");
  #button = byId("send");
  #send;
  /** What is being sent and its key: sending it again after a failure must not say it twice. */
  #attempt = { text: "", files: [], key: "" };
  #busy = false;
  #attachments = new Attachments(note, () => this.#fit());

  /** `send(text, key, files)` resolves to whether it was taken. */
  constructor(send) {
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
    this.#text.addEventListener("input", () => this.#fit());
    this.#fit();
  }

  focus() {
    this.#text.focus();
  }

  /** Writes and sends a text, as if it had been typed. */
  say(text) {
    this.#text.value = text;
    void this.#submit();
  }

  async #submit() {
    const text = this.#text.value.trim();
    const { files } = this.#attachments;
    if ((text === "" && files.length === 0) || this.#busy) return;
    if (text !== this.#attempt.text || files !== this.#attempt.files)
      this.#attempt = { text, files, key: randomId() };
    this.#busy = true;
    this.#attachments.busy = true;
    this.#button.disabled = true;
    const taken = await this.#send(text, this.#attempt.key, files);
    this.#busy = false;
    this.#attachments.busy = false;
    if (taken) {
      this.#attempt = { text: "", files: [], key: "" };
      if (this.#text.value.trim() === text) this.#text.value = "";
      if (files === this.#attachments.files) this.#attachments.clear();
    }
    this.#fit();
    this.#text.focus();
  }

  #fit() {
    const empty = this.#text.value.trim() === "" && this.#attachments.files.length === 0;
    this.#button.disabled = this.#busy || empty;
    this.#text.style.height = "auto";
    this.#text.style.height = `${this.#text.scrollHeight}px`;
  }
}
