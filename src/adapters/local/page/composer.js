/** The box to write in. Enter sends, Shift+Enter begins a new line. */
import { randomId } from "./api.js";
import { byId } from "./dom.js";

export class Composer {
  #text = byId("text");
  #button = byId("send");
  #send;
  /** What is being sent and its key: sending it again after a failure must not say it twice. */
  #attempt = { text: "", key: "" };
  #busy = false;

  /** `send(text, key)` resolves to whether the text was taken. */
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
    if (text === "" || this.#busy) return;
    if (text !== this.#attempt.text) this.#attempt = { text, key: randomId() };
    this.#busy = true;
    this.#button.disabled = true;
    const taken = await this.#send(text, this.#attempt.key);
    this.#busy = false;
    if (taken) {
      this.#attempt = { text: "", key: "" };
      if (this.#text.value.trim() === text) this.#text.value = "";
    }
    this.#fit();
    this.#text.focus();
  }

  #fit() {
    this.#button.disabled = this.#busy || this.#text.value.trim() === "";
    this.#text.style.height = "auto";
    this.#text.style.height = `${this.#text.scrollHeight}px`;
  }
}
