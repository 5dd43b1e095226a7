/** The buttons that stop a thread: the one at the box, and those of its messages. */
import { stopThread } from "../api.ts";
import { byId } from "../dom.ts";
import { announce, showOutcome, showToast } from "../toast.ts";
import { messageOf } from "../transport.ts";

export class StopButtons {
  readonly #own = byId("stop", HTMLButtonElement);
  readonly #log: HTMLElement;
  /** How often a stop was asked for. */
  #asked = 0;
  #saysStopping = false;

  /** @param log has the messages @param onPress of the button at the box */
  constructor(log: HTMLElement, onPress: () => void) {
    this.#log = log;
    this.#own.addEventListener("click", onPress);
  }

  show(isRunning: boolean): void {
    this.#own.hidden = !isRunning;
    if (!isRunning) this.#showStopping(false);
  }

  /** @param onLost the focus was on one of them, which is no button any more */
  async stop(thread: string, onLost: () => void): Promise<void> {
    const asked = ++this.#asked;
    const wasPressed = document.activeElement?.matches("button.stop");
    this.#showStopping(true);
    if (wasPressed) onLost();
    announce("Stopping.");
    try {
      const outcome = await stopThread(thread);
      if (outcome.kind === "stopping") return;
      showOutcome(outcome);
    } catch (error) {
      showToast(messageOf(error));
    }
    // What became of an earlier press says nothing of a later one.
    if (asked === this.#asked) this.#showStopping(false);
  }

  /** What was asked to stop says so until it has stopped. */
  #showStopping(yes: boolean): void {
    // With each message of a long conversation all its buttons would be looked for.
    if (!yes && !this.#saysStopping) return;
    this.#saysStopping = yes;
    for (const button of [this.#own, ...this.#log.querySelectorAll<HTMLButtonElement>("button.stop")]) {
      if (button.disabled === yes) continue;
      button.disabled = yes;
      button.lastChild?.replaceWith(yes ? "Stopping…" : "Stop");
    }
  }
}
