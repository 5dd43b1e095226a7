/** A button that copies. */
import { element, icon } from "./dom.ts";
import { showToast } from "./toast.ts";

/** How long it says that it has copied, ms. */
const shownMs = 2_000;

/** None where the browser keeps the clipboard from the page: it offers it on this machine and behind https only. */
export function copyButton(label: string, text: () => string): HTMLElement[] {
  if (!("clipboard" in navigator)) return [];
  const onclick = async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.replaceChildren(icon("answered"));
      setTimeout(() => button.replaceChildren(icon("copy")), shownMs);
    } catch {
      showToast("The browser did not allow copying.");
    }
  };
  const attributes = { type: "button", class: "quiet copy", "aria-label": label, title: label, onclick };
  const button = element("button", attributes, icon("copy"));
  return [button];
}
