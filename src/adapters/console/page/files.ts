/** The files of the thread's workspace. */
import type { FileEntry } from "../../../sandbox/sandbox.ts";
import { fileAddress, listFiles } from "./api.ts";
import { messageOf } from "./transport.ts";
import { byId, type Child, element, formatBytes, icon } from "./dom.ts";
import { type ViewedFile, viewFile } from "./viewer/viewer.ts";

/** Listing a workspace costs the server a little, so it is not done at every step of a turn. */
const leastIntervalMs = 2000;

class WorkspacePanel {
  readonly #list: HTMLElement;
  #thread: string | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #requestedAt = 0;
  /** The number of the last request, and of the last one that was answered. */
  #requested = 0;
  #answered = 0;
  #shown = "";
  #viewed: ViewedFile[] = [];
  /** Whether a failure is not told yet: the last request for this thread succeeded, or there was none. */
  #triesAgain = true;

  constructor(list: HTMLElement) {
    this.#list = list;
  }

  open(thread: string | null): void {
    this.#thread = thread;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#triesAgain = true;
    this.#showHint("");
    if (thread) void this.refresh();
  }

  /** Something may have changed: refreshes now, or when enough time has passed. */
  scheduleRefresh(): void {
    if (this.#timer || !this.#thread) return;
    const wait = Math.max(0, this.#requestedAt + leastIntervalMs - Date.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.refresh();
    }, wait);
  }

  async refresh(): Promise<void> {
    const thread = this.#thread;
    if (!thread) return;
    this.#requestedAt = Date.now();
    const number = ++this.#requested;
    // What is answered late is of earlier.
    const isLate = () => thread !== this.#thread || number < this.#answered;
    try {
      const { entries, truncated } = await listFiles(thread);
      if (isLate()) return;
      this.#answered = number;
      this.#triesAgain = true;
      this.#show(thread, entries.filter(isForPeople), truncated);
    } catch (error) {
      if (isLate()) return;
      // A stop ends everything that happens in a workspace, listing it too: one more try before it is told.
      if (this.#triesAgain) this.scheduleRefresh();
      else this.#showHint(messageOf(error));
      this.#triesAgain = false;
    }
  }

  #show(thread: string, entries: FileEntry[], truncated: boolean): void {
    if (entries.length === 0) return this.#showHint("No files yet. Those that Heddle creates appear here.");
    const now = JSON.stringify([thread, entries, truncated]);
    if (now === this.#shown) return;
    const focused = this.#stops().find((stop) => stop === document.activeElement);
    this.#viewed = entries
      .filter(({ type }) => type === "file")
      .map(({ path }) => ({ path, address: fileAddress(thread, path) }));
    const lines = entries.map((entry) => this.#line(thread, entry));
    if (truncated) lines.push(element("li", { class: "hint" }, "Some files are not shown."));
    this.#list.replaceChildren(...lines);
    this.#shown = now;
    if (focused) this.#focus(focused.title);
  }

  /** The lines may be others than those that had the focus before. */
  #focus(title: string): void {
    for (const stop of this.#stops()) if (stop.title === title) stop.focus();
  }

  #stops(): HTMLElement[] {
    return [...this.#list.querySelectorAll<HTMLElement>("a, button")];
  }

  #line(thread: string, { path, type, bytes }: FileEntry): HTMLElement {
    const parts = path.split("/");
    const base = parts.at(-1) ?? path;
    const name = element("span", { class: "title" }, base);
    const sign = icon(type === "directory" ? "folder" : "file");
    const content =
      type === "file"
        ? this.#file(path, fileAddress(thread, path), base, [
            name,
            element("span", { class: "size" }, formatBytes(bytes)),
          ])
        : [element("span", { class: "folder", title: path }, sign, name)];
    const line = element("li", {}, ...content);
    line.style.setProperty("--depth", String(parts.length - 1));
    return line;
  }

  #file(path: string, address: string, download: string, about: Child[]): HTMLElement[] {
    const title = viewTitle(path);
    const onClose = (last: ViewedFile) => this.#focus(viewTitle(last.path));
    const onclick = () => viewFile({ path, address }, { among: this.#viewed, onClose });
    const label = `Save ${path}`;
    const save = { class: "quiet", href: address, download, title: label, "aria-label": label };
    return [
      element("button", { type: "button", class: "file", title, onclick }, icon("file"), ...about),
      element("a", save, icon("download")),
    ];
  }

  #showHint(text: string): void {
    this.#shown = "";
    this.#list.replaceChildren(...(text ? [element("li", { class: "hint" }, text)] : []));
  }
}

/** Heddle keeps things of its own in a folder of the workspace. */
function isForPeople({ path }: FileEntry): boolean {
  return path !== ".heddle" && !path.startsWith(".heddle/");
}

function viewTitle(path: string): string {
  return `View ${path}`;
}

export const files = new WorkspacePanel(byId("file-list"));
byId("refresh").addEventListener("click", () => void files.refresh());
