/** The files that will go with the next message: chosen, pasted or dropped. */
import { byId, element, formatBytes, icon } from "../dom.ts";

/** What the server takes: conversations.ts, conversation-routes.ts. */
const mostBytes = 16 * 1024 * 1024;
const mostFiles = 20;

/** The same wherever there are none, so that a message that is sent again is known as such. */
export const noFiles: File[] = [];

export class Attachments {
  /** Of each draft: what is meant for one thread must not go to another. Another array after each change. */
  readonly #files = new Map<string, File[]>();
  #draft = "";
  /** The draft whose files are being sent. */
  #sending: string | null = null;
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

  get files(): File[] {
    return this.#files.get(this.#draft) ?? noFiles;
  }

  /** Shows those of a draft. */
  open(draft: string): void {
    this.#draft = draft;
    this.#show();
  }

  /** Takes those that have been sent out of their draft. */
  drop(draft: string, sent: File[]): void {
    const files = this.#files.get(draft) ?? noFiles;
    if (sent.length > 0)
      this.#set(
        draft,
        files.filter((file) => !sent.includes(file)),
      );
  }

  /** Those of one draft become those of another. */
  move(from: string, to: string): void {
    const files = this.#files.get(from);
    if (!files) return;
    this.#set(from, noFiles);
    this.#set(to, [...(this.#files.get(to) ?? noFiles), ...files]);
  }

  /** @returns what the text is called as a file, or null where it cannot be one, which is said */
  addText(text: string, stem: string): string | null {
    const names = new Set(this.files.map(({ name }) => name));
    let name = `${stem}.txt`;
    for (let number = 2; names.has(name); number += 1) name = `${stem}-${number}.txt`;
    return this.#add([new File([text], name, { type: "text/plain" })]) ? name : null;
  }

  /** The draft whose files are being sent, or null. */
  set sending(draft: string | null) {
    this.#sending = draft;
    this.#showSending();
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
    this.#set(this.#draft, [...this.files, ...fitting.slice(0, room)]);
    byId("text").focus();
    return problems.length === 0;
  }

  #set(draft: string, files: File[]): void {
    if (files.length > 0) this.#files.set(draft, files);
    else this.#files.delete(draft);
    if (draft === this.#draft) this.#show();
  }

  #show(): void {
    const { files } = this;
    this.#list.hidden = files.length === 0;
    this.#list.replaceChildren(...files.map((file) => this.#line(file)));
    this.#showSending();
    this.#onChange();
  }

  #showSending(): void {
    this.#list.classList.toggle("busy", this.#sending === this.#draft && this.files.length > 0);
  }

  #line(file: File): HTMLElement {
    const remove = element(
      "button",
      {
        ...{ type: "button", class: "quiet", "aria-label": `Remove ${file.name}` },
        onclick: () => {
          this.drop(this.#draft, [file]);
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
