/** The files that will go with the next message: chosen, pasted or dropped. */
import { byId, element, formatBytes, icon } from "../dom.ts";
import { readLocal, storeLocal } from "../local-store.ts";

/** What the server takes: conversations.ts, conversation-routes.ts. */
const mostBytes = 16 * 1024 * 1024;
const mostFiles = 20;

/** The same wherever there are none, so that a message that is sent again is known as such. */
export const noFiles: File[] = [];

export class Attachments {
  /** Of each draft: what is meant for one thread must not go to another. Another array after each change. */
  readonly #files = new Map<string, File[]>();
  /** Names of those that a draft had before the page was loaded: a browser gives a page its text again, not its files. */
  readonly #lost = new Map<string, string[]>();
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
    if (!this.#lost.has(draft))
      this.#lost.set(draft, this.#files.has(draft) ? [] : JSON.parse(readLocal(keyOf(draft)) ?? "[]"));
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

  /** What a draft was for has been said: those that it had before count no more. */
  forgetLost(draft: string): void {
    this.#setLost(draft, []);
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
    const names = files.map(({ name }) => name);
    this.#setLost(
      draft,
      this.#listLost(draft).filter((name) => !names.includes(name)),
    );
  }

  #listLost(draft: string): string[] {
    return this.#lost.get(draft) ?? [];
  }

  #setLost(draft: string, lost: string[]): void {
    this.#lost.set(draft, lost);
    const all = [...(this.#files.get(draft) ?? noFiles).map(({ name }) => name), ...lost];
    storeLocal(keyOf(draft), all.length > 0 ? JSON.stringify(all) : undefined);
    if (draft === this.#draft) this.#show();
  }

  #show(): void {
    const { files } = this;
    const lost = this.#listLost(this.#draft);
    this.#list.hidden = files.length + lost.length === 0;
    this.#list.replaceChildren(
      ...files.map((file) => this.#line(file)),
      ...lost.map((name) => this.#lostLine(name)),
    );
    this.#showSending();
    this.#onChange();
  }

  #showSending(): void {
    this.#list.classList.toggle("busy", this.#sending === this.#draft && this.files.length > 0);
  }

  #line(file: File): HTMLElement {
    const { name, size } = file;
    const remove = this.#removeButton(name, () => this.drop(this.#draft, [file]));
    return element("li", {}, icon("file"), ...nameFile(name, formatBytes(size)), remove);
  }

  #lostLine(lost: string): HTMLElement {
    const remove = this.#removeButton(lost, () =>
      this.#setLost(
        this.#draft,
        this.#listLost(this.#draft).filter((name) => name !== lost),
      ),
    );
    return element("li", { class: "lost" }, ...nameFile(lost, "not kept: attach it again"), remove);
  }

  #removeButton(name: string, remove: () => void): HTMLElement {
    const onclick = () => {
      remove();
      byId("text").focus();
    };
    const attributes = { type: "button", class: "quiet", "aria-label": `Remove ${name}` };
    return element("button", { ...attributes, onclick }, icon("close"));
  }
}

function nameFile(name: string, beside: string): HTMLElement[] {
  const title = element("span", { class: "title", title: name }, name);
  return [title, element("span", { class: "size" }, beside)];
}

function keyOf(draft: string): string {
  return `${draft} files`;
}
