/** The files of the thread's workspace. */
import { fileAddress, listFiles } from "./api.js";
import { element, formatBytes, icon } from "./dom.js";

/** Looking into a workspace costs the server a little, so it is not done at every step of a turn. */
const leastIntervalMs = 2000;

export class WorkspacePanel {
  #list;
  #thread = null;
  #timer;
  #askedAt = 0;

  constructor(list) {
    this.#list = list;
  }

  open(thread) {
    this.#thread = thread;
    clearTimeout(this.#timer);
    this.#timer = undefined;
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
    this.#askedAt = Date.now();
    try {
      const { entries, truncated } = await listFiles(thread);
      if (thread === this.#thread) this.#show(entries, truncated);
    } catch (error) {
      if (thread === this.#thread) this.#say(error.message);
    }
  }

  #show(entries, truncated) {
    if (entries.length === 0)
      return this.#say("Nothing here yet. Files that Heddle makes appear as it works.");
    const lines = entries.map((entry) => this.#line(entry));
    if (truncated) lines.push(element("li", { class: "hint" }, "There are more files than are shown here."));
    this.#list.replaceChildren(...lines);
  }

  #line({ path, type, bytes }) {
    const parts = path.split("/");
    const name = element("span", { class: "title" }, parts.at(-1));
    const content =
      type === "file"
        ? element(
            "a",
            { href: fileAddress(this.#thread, path), download: parts.at(-1), title: `Download ${path}` },
            icon("file"),
            name,
            element("span", { class: "size" }, formatBytes(bytes)),
          )
        : element(
            "span",
            { class: "folder", title: path },
            icon(type === "directory" ? "folder" : "file"),
            name,
          );
    const line = element("li", {}, content);
    line.style.setProperty("--depth", parts.length - 1);
    return line;
  }

  #say(text) {
    this.#list.replaceChildren(...(text ? [element("li", { class: "hint" }, text)] : []));
  }
}
