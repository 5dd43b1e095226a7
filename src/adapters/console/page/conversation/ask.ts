/** A question to the person that is answered with a sentence. */
import { byId } from "../dom.ts";

/** Resolves to what the person writes, or to null when the question is put away. */
export function askFor(question: string): Promise<string | null> {
  const [dialog, text] = [byId("ask", HTMLDialogElement), byId("ask-text", HTMLInputElement)];
  byId("ask-question").textContent = question;
  text.value = "";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    const answer = () => resolve(dialog.returnValue === "send" ? text.value : null);
    dialog.addEventListener("close", answer, { once: true });
  });
}
