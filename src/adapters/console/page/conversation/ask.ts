/** A question to the person that is answered with a sentence. */
import { byId } from "../dom.ts";
import { limitLength } from "../limit-length.ts";

/** What the server takes: conversation-routes.ts. */
const mostChars = 4_000;

limitLength(byId("ask-text", HTMLInputElement), mostChars);

/**
 * Resolves to what the person writes, which may be nothing, or to null when the question is put away.
 *
 * @param does what its button says
 * @param about what is read before the question
 */
export function askFor(question: string, does: string, about: HTMLElement[] = []): Promise<string | null> {
  const [dialog, text] = [byId("ask", HTMLDialogElement), byId("ask-text", HTMLInputElement)];
  byId("ask-about").replaceChildren(...about);
  byId("ask-about").hidden = about.length === 0;
  byId("ask-question").textContent = question;
  byId("ask-send").textContent = does;
  text.value = "";
  text.setCustomValidity("");
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    const answer = () => resolve(dialog.returnValue === "send" ? text.value : null);
    dialog.addEventListener("close", answer, { once: true });
  });
}
