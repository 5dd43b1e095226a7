/** Shows a file in a dialog, in the ways that its kind allows. */
import { readFile } from "../api.ts";
import { messageOf } from "../transport.ts";
import { copyButton } from "../copy.ts";
import { byId, type Child, element, icon } from "../dom.ts";
import { findViews, type View } from "./views.ts";

export interface ViewedFile {
  path: string;
  address: string;
}

interface ViewerOptions {
  /** The files among which one can go on from here, this one included. */
  among?: readonly ViewedFile[];
  /** Gives the focus back where what had it may be gone by then; the file that was shown last. */
  onClose?(last: ViewedFile): void;
}

const dialog = byId("viewer", HTMLDialogElement);
const save = byId("viewer-save", HTMLAnchorElement);
const tools = byId("viewer-tools");
const content = byId("viewer-content");

let shown: ViewedFile | undefined;
let among: readonly ViewedFile[] = [];

export function viewFile(file: ViewedFile, options: ViewerOptions = {}): void {
  among = options.among ?? [];
  dialog.addEventListener("close", () => shown && options.onClose?.(shown), { once: true });
  dialog.showModal();
  void show(file);
}

async function show(file: ViewedFile): Promise<void> {
  const { path, address } = file;
  shown = file;
  byId("viewer-title").textContent = path;
  save.href = address;
  save.download = path.split("/").at(-1) ?? path;
  // What has the focus is about to go.
  for (const part of [tools, content]) if (part.contains(document.activeElement)) content.focus();
  tools.replaceChildren();
  showSiblings();
  if (document.activeElement instanceof HTMLButtonElement && document.activeElement.disabled) content.focus();
  content.replaceChildren(element("p", { class: "soft" }, "Loading…"));
  // Another file may have been opened in the meantime.
  const put = (...parts: Child[]) => {
    if (shown === file) content.replaceChildren(...parts);
  };
  try {
    const bytes = await readFile(address);
    if (shown !== file) return;
    const { views, text, note } = findViews(bytes, path, address);
    const about = note === undefined ? [] : [element("p", { class: "nothing" }, note)];
    const select = async (view: View) => {
      const parts = await view.render();
      content.scrollTop = 0;
      put(...about, ...parts);
    };
    const [first] = views;
    if (first) await select(first);
    else put(...about);
    if (shown !== file) return;
    const copy = text === undefined ? [] : copyButton("Copy file", () => text);
    tools.replaceChildren(...(views.length > 1 ? [viewSwitch(views, select)] : []), ...copy);
  } catch (error) {
    put(element("p", { class: "failure", role: "alert" }, messageOf(error)));
  }
}

/** Goes from the preview to the source and back. */
function viewSwitch(views: readonly View[], select: (view: View) => Promise<void>): HTMLElement {
  let at = 0;
  const button = element("button", { type: "button", class: "action", "aria-pressed": "false" }, "Source");
  button.addEventListener("click", () => {
    at = (at + 1) % views.length;
    button.setAttribute("aria-pressed", String(at === 1));
    const view = views[at];
    if (view) void select(view);
  });
  return button;
}

const [previous, next] = [createSiblingButton("Previous file", -1), createSiblingButton("Next file", 1)];
byId("viewer-siblings").append(previous, next);

function createSiblingButton(label: string, by: 1 | -1): HTMLButtonElement {
  const title = `${label} (${by === 1 ? "j" : "k"})`;
  const attributes = { type: "button", class: "quiet", "aria-label": label, title, onclick: () => step(by) };
  return element("button", attributes, icon(by === 1 ? "right" : "left"));
}

function findSibling(by: 1 | -1): ViewedFile | undefined {
  const at = among.findIndex(({ address }) => address === shown?.address);
  return at === -1 ? undefined : among[at + by];
}

function showSiblings(): void {
  byId("viewer-siblings").hidden = among.length < 2;
  previous.disabled = !findSibling(-1);
  next.disabled = !findSibling(1);
}

function step(by: 1 | -1): void {
  const file = findSibling(by);
  if (file) void show(file);
}

dialog.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
});
