/** Buttons that copy. */
import { element, icon, type IconName } from "./dom.ts";
import { showToast } from "./toast.ts";

/** How long it says that it has copied, ms. */
const shownMs = 2_000;

/** None where the browser keeps the clipboard from the page: it offers it on this machine and behind https only. */
export function copyButton(label: string, text: () => string, sign: IconName = "copy"): HTMLElement[] {
  if (!("clipboard" in navigator)) return [];
  const onclick = async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.replaceChildren(icon("answered"));
      setTimeout(() => button.replaceChildren(icon(sign)), shownMs);
    } catch {
      showToast("The browser did not allow copying.");
    }
  };
  const attributes = { type: "button", class: "quiet copy", "aria-label": label, title: label, onclick };
  const button = element("button", attributes, icon(sign));
  return [button];
}

/** Copies an address of the page; where that cannot be, it leads there, and the browser shows it. */
export function linkButton(label: string, hash: string): HTMLElement {
  const [button] = copyButton(label, () => new URL(hash, location.href).href, "link");
  const name = "Link to this message";
  return (
    button ?? element("a", { class: "quiet copy", href: hash, "aria-label": name, title: name }, icon("link"))
  );
}
