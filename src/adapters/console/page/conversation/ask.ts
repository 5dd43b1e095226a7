/** A question to the person that is answered with a sentence. */
import { byId } from "../dom.ts";
import { limitLength } from "../limit-length.ts";
import { messageOf } from "../transport.ts";

/** What the server takes: conversation-routes.ts, requests.ts. */
const mostChars = 4_000;

limitLength(byId("ask-text", HTMLInputElement), mostChars);

let shown = new AbortController();

/**
 * Stays open, with what was written, until that is taken or the person puts the question away: what a failure loses
 * would have to be written again.
 *
 * @param does what its button says
 * @param send takes what the person writes, which may be nothing; why it fails is said in the dialog
 * @param about what is read before the question
 * @returns what `send` resolves to, or null when the question is put away
 */
export function askFor<T>(
  question: string,
  does: string,
  send: (text: string) => Promise<T>,
  about: HTMLElement[] = [],
): Promise<T | null> {
  const [dialog, text] = [byId("ask", HTMLDialogElement), byId("ask-text", HTMLInputElement)];
  const [problem, button] = [byId("ask-problem"), byId("ask-send", HTMLButtonElement)];
  byId("ask-about").replaceChildren(...about);
  byId("ask-about").hidden = about.length === 0;
  byId("ask-question").textContent = question;
  button.textContent = does;
  button.disabled = false;
  problem.textContent = "";
  text.value = "";
  text.setCustomValidity("");
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  return new Promise((resolve, reject) => {
    const submit = async () => {
      if (button.disabled) return;
      button.disabled = true;
      problem.textContent = "";
      try {
        resolve(await send(text.value));
        if (!signal.aborted) dialog.close();
      } catch (error) {
        // It was put away meanwhile: whoever has asked says why.
        if (signal.aborted || !dialog.open) return reject(error);
        button.disabled = false;
        problem.textContent = messageOf(error);
        text.focus();
      }
    };
    const listen = (target: EventTarget, name: string, act: (event: Event) => void) =>
      target.addEventListener(name, act, { signal });
    listen(byId("ask-form"), "submit", (event) => {
      event.preventDefault();
      void submit();
    });
    listen(byId("ask-cancel"), "click", () => dialog.close());
    listen(dialog, "close", () => {
      // What is on its way by then is still told of.
      if (!button.disabled) resolve(null);
    });
    dialog.showModal();
  });
}
