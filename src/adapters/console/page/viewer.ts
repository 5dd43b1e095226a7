/** Shows a file: text as text, pictures of the kinds that hold no script. The rest can be saved. */
import { messageOf, readFile } from "./api.ts";
import { byId, type Child, element } from "./dom.ts";
import { pluralize } from "./format.ts";
import { renderPlain } from "./markdown/render.ts";

/** More would hold up the page. */
const shownChars = 200_000;

/** By what their bytes begin with, whatever their name says. An SVG is text here. */
const pictures: [mediaType: string, begins: RegExp][] = [
  ["image/png", /^\x89PNG/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8/],
  ["image/webp", /^RIFF.{4}WEBP/s],
];

const dialog = byId("viewer", HTMLDialogElement);
const save = byId("viewer-save", HTMLAnchorElement);
const content = byId("viewer-content");

/** `onClose` gives the focus back where what had it may be gone by then. */
export async function viewFile(path: string, address: string, onClose = () => {}): Promise<void> {
  const name = path.split("/").at(-1) ?? path;
  byId("viewer-title").textContent = path;
  save.href = address;
  save.download = name;
  content.replaceChildren(element("p", { class: "soft" }, "Loading…"));
  dialog.addEventListener("close", onClose, { once: true });
  dialog.showModal();
  // Another file may have been opened in the meantime.
  const show = (...parts: Child[]) => {
    if (save.getAttribute("href") === address) content.replaceChildren(...parts);
  };
  try {
    const bytes = await readFile(address);
    show(...(await partsOf(bytes, name)));
  } catch (error) {
    show(element("p", { class: "failure", role: "alert" }, messageOf(error)));
  }
}

async function partsOf(bytes: Uint8Array<ArrayBuffer>, name: string): Promise<HTMLElement[]> {
  const picture = pictures.find(([, begins]) => begins.test(String.fromCharCode(...bytes.subarray(0, 12))));
  if (picture) return [element("img", { src: await dataAddress(bytes, picture[0]), alt: name })];
  const text = textOf(bytes);
  if (text === undefined) return [element("p", { class: "nothing" }, "Not a text file. Save it to open it.")];
  if (text === "") return [element("p", { class: "nothing" }, "This file is empty.")];
  const more = text.length - shownChars;
  return [
    element("pre", {}, ...renderPlain(text.slice(0, shownChars))),
    ...(more > 0
      ? [
          element(
            "p",
            { class: "soft" },
            `${pluralize(more, "more character")} not shown. Save the file to see everything.`,
          ),
        ]
      : []),
  ];
}

/** Undefined where the bytes are no text. */
function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function dataAddress(bytes: Uint8Array<ArrayBuffer>, type: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(typeof reader.result === "string" ? reader.result : ""));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(new Blob([bytes], { type }));
  });
}
