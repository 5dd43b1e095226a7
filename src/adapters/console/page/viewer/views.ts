/** The ways to show a file: what its name and its bytes allow. */
import { type Child, element } from "../dom.ts";
import { pluralize } from "../format.ts";
import { highlight } from "../highlight.ts";
import { changesScriptOften } from "../markdown/heavy.ts";
import { renderMarkdown, renderPlain } from "../markdown/render.ts";
import { renderTerminal } from "../terminal.ts";
import { parseCsv } from "./csv.ts";
import { parseJson, renderJson } from "./json.ts";
import { decodeText } from "./text.ts";

/** One way to show a file. */
export interface View {
  name: "Preview" | "Source";
  render(): Promise<Child[]> | Child[];
}

/** What can be shown of a file; `text` to be copied, and without a view a sentence. */
interface FileViews {
  views: View[];
  text?: string;
  note?: string;
}

/** More would hold up the page. */
const shownChars = 200_000;
const coloredChars = 100_000;
const longestLine = 5_000;
const shownRows = 1_000;
const shownColumns = 100;

/** By what their bytes begin with, whatever their name says: the server looks at the same. */
const pictures = [/^\x89PNG\r\n/, /^\xff\xd8\xff/, /^GIF8[79]a/, /^RIFF.{4}WEBP/s];

/** @param address of its bytes; with `&preview=1` it is what a browser can show */
export function findViews(bytes: Uint8Array, path: string, address: string): FileViews {
  const name = path.split("/").at(-1) ?? path;
  const preview = `${address}${address.includes("?") ? "&" : "?"}preview=1`;
  const start = String.fromCharCode(...bytes.subarray(0, 12));
  if (pictures.some((begins) => begins.test(start)))
    return { views: [{ name: "Preview", render: () => [picture(preview, name)] }] };
  if (start.startsWith("%PDF-")) return pdfViews(preview, name);
  const decoded = decodeText(bytes);
  if (!decoded) return { views: [], note: "Not a text file. Save it to open it." };
  const { text, encoding } = decoded;
  if (text === "") return { views: [], note: "This file is empty." };
  const source: View = { name: "Source", render: () => renderSource(text, name) };
  const rendered = renderings[extensionOf(name)]?.(text, { preview, name });
  const views: View[] = rendered ? [{ name: "Preview", render: rendered }, source] : [source];
  return { views, text, ...(encoding !== undefined && { note: `This file is in ${encoding}.` }) };
}

type Rendering = (text: string, of: { preview: string; name: string }) => (() => Child[]) | undefined;

const markdown: Rendering = (text) =>
  text.length > shownChars
    ? undefined
    : () => [element("div", { class: "body prose" }, ...renderMarkdown(text))];
const table: Rendering = (text) => () => renderTable(text);
const json: Rendering = (text) => {
  try {
    const value = parseJson(text);
    return () => [renderJson(value)];
  } catch {
    return undefined;
  }
};
const webPage: Rendering = (text, { preview, name }) =>
  text.length > shownChars
    ? undefined
    : () => [
        // Without scripts, whatever it holds: neither this frame nor the policy of what is in it allows any.
        element("iframe", { src: preview, sandbox: "", title: `Preview of ${name}` }),
        element(
          "p",
          { class: "soft" },
          "Scripts, forms and anything from other hosts are switched off in this preview.",
        ),
      ];
const drawing: Rendering =
  (_, { preview, name }) =>
  () => [picture(preview, name)];
const log: Rendering = (text) =>
  text.includes("\x1b[")
    ? () => [element("pre", {}, ...renderTerminal(text.slice(0, shownChars)))]
    : undefined;

const renderings: Record<string, Rendering | undefined> = {
  ...{ md: markdown, markdown, csv: table, tsv: table, json, geojson: json, ipynb: json },
  ...{ html: webPage, htm: webPage, svg: drawing, log, txt: log, out: log },
};

function picture(address: string, name: string): HTMLElement {
  return element("img", { src: address, alt: name });
}

function pdfViews(preview: string, name: string): FileViews {
  if (!navigator.pdfViewerEnabled)
    return { views: [], note: "This browser shows no PDF here. Save the file to open it." };
  return { views: [{ name: "Preview", render: () => [element("iframe", { src: preview, title: name })] }] };
}

function renderTable(text: string): Child[] {
  const { rows, hasMore } = parseCsv(text.slice(0, shownChars), shownRows + 1);
  const [head = [], ...body] = rows;
  const width = Math.min(shownColumns, Math.max(...rows.map((row) => row.length)));
  const columns = [...Array(width).keys()];
  const numbers = columns.map(
    (column) => body.length > 0 && body.every((row) => isNumber(row[column] ?? "")),
  );
  const cell = (tag: "th" | "td", row: string[]) => (column: number) =>
    element(tag, { class: numbers[column] ? "end" : "start" }, row[column] ?? "");
  const shown = element(
    "table",
    {},
    element("thead", {}, element("tr", {}, ...columns.map(cell("th", head)))),
    element("tbody", {}, ...body.map((row) => element("tr", {}, ...columns.map(cell("td", row))))),
  );
  const isCut = hasMore || text.length > shownChars;
  const count = `${pluralize(body.length, "row")}${isCut ? " shown. Save the file to see all of them." : ""}`;
  return [element("div", { class: "table" }, shown), element("p", { class: "soft" }, count)];
}

function isNumber(text: string): boolean {
  const bare = text.trim();
  return bare === "" || /^[-+]?[\d.,\s]*\d\s*%?$/.test(bare);
}

/** With line numbers, and in colour where the name tells the language. */
async function renderSource(text: string, name: string): Promise<Child[]> {
  const shown = text.slice(0, shownChars);
  const more = text.length - shown.length;
  const omitted = `${pluralize(more, "more character")} not shown. Save the file to see everything.`;
  const rest = more > 0 ? [element("p", { class: "soft" }, omitted)] : [];
  const lines = shown.split("\n");
  // Longer ones are wrapped: laying them out in one line would hold up the page.
  if (changesScriptOften(shown) || lines.some((line) => line.length > longestLine))
    return [element("pre", { class: "text" }, ...renderPlain(shown)), ...rest];
  const colored = shown.length <= coloredChars ? await highlight(shown, languageOf(name)) : undefined;
  const count = lines.length - (shown.endsWith("\n") ? 1 : 0);
  const numbers = Array.from({ length: count }, (_, line) => line + 1).join("\n");
  const source = element(
    "div",
    { class: "source" },
    element("pre", { class: "numbers", "aria-hidden": "true" }, numbers),
    element("pre", { class: "text" }, ...(colored ?? [shown])),
  );
  return [source, ...rest];
}

function extensionOf(name: string): string {
  return /\.(\w{1,12})$/.exec(name)?.[1]?.toLowerCase() ?? "";
}

/** Most of what names end with is a name of the language too. */
function languageOf(name: string): string {
  const known: Record<string, string> = {
    patch: "diff",
    mts: "ts",
    cts: "ts",
    mjs: "js",
    cjs: "js",
    htm: "html",
  };
  const end = extensionOf(name);
  return known[end] ?? (/^Makefile$/i.test(name) ? "makefile" : end || "none");
}
