/** A question to the person that is answered with a sentence. */
import { byId } from "./dom.js";

/** Resolves to what the person writes, or to null when the question is put away. */
export function askFor(question) {
  const [dialog, text] = [byId("ask"), byId("ask-text")];
  byId("ask-question").textContent = question;
  text.value = "";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    const closed = () => resolve(dialog.returnValue === "send" ? text.value : null);
    dialog.addEventListener("close", closed, { once: true });
  });
}
