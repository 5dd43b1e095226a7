/** The files that will go with the next message: chosen, pasted or dropped. */
import { byId, element, formatBytes, icon } from "../dom.ts";

/** What the server takes: conversations.ts, conversation-routes.ts. */
const mostBytes = 16 * 1024 * 1024;
const mostFiles = 20;

export class Attachments {
  /** Another array after each change. */
  files: File[] = [];
  readonly #list = byId("attachments");
  readonly #showProblem: (text: string) => void;
  readonly #onChange: () => void;

  /** `showProblem(text)` tells the person why a file was not taken. */
  constructor(showProblem: (text: string) => void, onChange: () => void) {
    this.#showProblem = showProblem;
    this.#onChange = onChange;
    const input = byId("pick", HTMLInputElement);
    byId("attach").addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      this.#add([...(input.files ?? [])]);
      input.value = "";
    });
    byId("text").addEventListener("paste", (event) => {
      const data = event.clipboardData;
      // Office programs put a picture of the text beside the text.
      if (!data || data.files.length === 0 || data.types.includes("text/plain")) return;
      event.preventDefault();
      this.#add([...data.files]);
    });
    this.#takeDrops();
  }

  clear(): void {
    this.#set([]);
  }

  /** @returns what the text is called as a file, or null where it cannot be one, which is said */
  addText(text: string, stem: string): string | null {
    const names = new Set(this.files.map(({ name }) => name));
    let name = `${stem}.txt`;
    for (let number = 2; names.has(name); number += 1) name = `${stem}-${number}.txt`;
    return this.#add([new File([text], name, { type: "text/plain" })]) ? name : null;
  }

  /** While they are being sent. */
  set busy(yes: boolean) {
    this.#list.classList.toggle("busy", yes && this.files.length > 0);
  }

  #takeDrops(): void {
    const { body } = document;
    const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes("Files") === true;
    const mark = (yes: boolean) =>
      body.classList.toggle("dropping", yes && body.dataset.page === "conversation");
    document.addEventListener("dragover", (event) => {
      if (!hasFiles(event)) return;
      // Or else the browser would leave the page for the file.
      event.preventDefault();
      mark(true);
    });
    document.addEventListener("dragleave", (event) => {
      if (event.relatedTarget === null) mark(false);
    });
    document.addEventListener("drop", (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      mark(false);
      if (body.dataset.page === "conversation") this.#add([...(event.dataTransfer?.files ?? [])]);
    });
  }

  /** False where some were not taken, which is said. */
  #add(files: File[]): boolean {
    const large = files.filter(({ size }) => size > mostBytes);
    const fitting = files.filter(({ size }) => size <= mostBytes);
    const room = mostFiles - this.files.length;
    const problems = [
      ...large.map(({ name }) => `${name} is larger than 16 MiB, the limit for one file.`),
      ...(fitting.length > room
        ? [`A message can have ${mostFiles} files: send the others in the next one.`]
        : []),
    ];
    this.#showProblem(problems.join(" "));
    this.#set([...this.files, ...fitting.slice(0, room)]);
    byId("text").focus();
    return problems.length === 0;
  }

  #set(files: File[]): void {
    this.files = files;
    this.#list.hidden = files.length === 0;
    this.#list.replaceChildren(...files.map((file) => this.#line(file)));
    this.#onChange();
  }

  #line(file: File): HTMLElement {
    const remove = element(
      "button",
      {
        ...{ type: "button", class: "quiet", "aria-label": `Remove ${file.name}` },
        onclick: () => {
          this.#set(this.files.filter((other) => other !== file));
          byId("text").focus();
        },
      },
      icon("close"),
    );
    const name = element("span", { class: "title", title: file.name }, file.name);
    const size = element("span", { class: "size" }, formatBytes(file.size));
    return element("li", {}, icon("file"), name, size, remove);
  }
}
