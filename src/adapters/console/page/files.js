/** The files of the thread's workspace. */
import { fileAddress, listFiles } from "./api.js";
import { byId, element, formatBytes, icon } from "./dom.js";
import { viewFile } from "./viewer.js";

/** Looking into a workspace costs the server a little, so it is not done at every step of a turn. */
const leastIntervalMs = 2000;

class WorkspacePanel {
  #list;
  #thread = null;
  #timer;
  #askedAt = 0;
  /** How many looks were begun, and the last of them that was answered. */
  #looks = 0;
  #answered = 0;
  #shown = "";
  /** Whether the last look at this thread went well. */
  #seen = false;

  constructor(list) {
    this.#list = list;
  }

  open(thread) {
    this.#thread = thread;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#seen = false;
    this.#say("");
    if (thread) void this.refresh();
  }

  /** Something may have changed: looks again, now or when enough time has passed. */
  changed() {
    if (this.#timer || !this.#thread) return;
    const wait = Math.max(0, this.#askedAt + leastIntervalMs - Date.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.refresh();
    }, wait);
  }

  async refresh() {
    const thread = this.#thread;
    if (!thread) return;
    this.#askedAt = Date.now();
    const look = ++this.#looks;
    // What is answered late is of earlier.
    const isLate = () => thread !== this.#thread || look < this.#answered;
    try {
      const { entries, truncated } = await listFiles(thread);
      if (isLate()) return;
      this.#answered = look;
      this.#seen = true;
      this.#show(entries, truncated);
    } catch (error) {
      if (isLate()) return;
      // A stop ends everything that happens in a workspace, a look into it too: once more before it is said.
      if (this.#seen) this.changed();
      else this.#say(error.message);
      this.#seen = false;
    }
  }

  #show(entries, truncated) {
    if (entries.length === 0)
      return this.#say("Nothing here yet. Files that Heddle makes appear as it works.");
    const now = JSON.stringify([this.#thread, entries, truncated]);
    if (now === this.#shown) return;
    const focused = this.#list.contains(document.activeElement) ? document.activeElement : null;
    const lines = entries.map((entry) => this.#line(entry));
    if (truncated) lines.push(element("li", { class: "hint" }, "There are more files than are shown here."));
    this.#list.replaceChildren(...lines);
    this.#shown = now;
    if (focused) this.#focus(focused.title);
  }

  /** The lines may be others than those that had the focus before. */
  #focus(title) {
    for (const stop of this.#list.querySelectorAll("a, button")) if (stop.title === title) stop.focus();
  }

  #line({ path, type, bytes }) {
    const parts = path.split("/");
    const name = element("span", { class: "title" }, parts.at(-1));
    const sign = icon(type === "directory" ? "folder" : "file");
    const content =
      type === "file"
        ? this.#file(path, name, bytes)
        : [element("span", { class: "folder", title: path }, sign, name)];
    const line = element("li", {}, ...content);
    line.style.setProperty("--depth", parts.length - 1);
    return line;
  }

  #file(path, name, bytes) {
    const address = fileAddress(this.#thread, path);
    const size = element("span", { class: "size" }, formatBytes(bytes));
    const title = `Look at ${path}`;
    const look = () => void viewFile(path, address, () => this.#focus(title));
    const save = {
      ...{ class: "quiet", href: address, download: path.split("/").at(-1) },
      ...{ title: `Save ${path}`, "aria-label": `Save ${path}` },
    };
    return [
      element("button", { type: "button", class: "file", title, onclick: look }, icon("file"), name, size),
      element("a", save, icon("download")),
    ];
  }

  #say(text) {
    this.#shown = "";
    this.#list.replaceChildren(...(text ? [element("li", { class: "hint" }, text)] : []));
  }
}

export const files = new WorkspacePanel(byId("file-list"));
byId("refresh").addEventListener("click", () => void files.refresh());
