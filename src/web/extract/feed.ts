import { DOMParser } from "linkedom";
import { z } from "zod";
import { toOneLine } from "../../agent/text/text.ts";
import type { DomDocument, DomElement } from "./dom.ts";
import type { Extracted } from "./extracted.ts";
import { decodeReferences, stripTags } from "./nesting.ts";

const mostEntries = 100;
const summaryCharacters = 500;

interface Entry {
  title: string;
  link: string;
  date: string;
  summary: string;
}

export function extractFeed(xml: string, address: string): Extracted {
  // The parser's own types name no members.
  const document = new DOMParser().parseFromString(xml, "text/xml") as unknown as DomDocument;
  const entries = [...document.querySelectorAll("item, entry")].map(
    (entry): Entry => ({
      title: read(entry, "title"),
      link: findLink(entry),
      date:
        read(entry, "pubDate") || read(entry, "published") || read(entry, "updated") || read(entry, "date"),
      summary: read(entry, "description") || read(entry, "summary") || read(entry, "content"),
    }),
  );
  const root = document.querySelector("channel") ?? document.documentElement;
  return format(root ? read(root, "title") : "", entries, address);
}

/**
 * The page of an entry: Atom has links of other kinds too (RFC 4287, 4.2.7.2), which RSS may hold as well, and the guid of
 * RSS is an address unless it says otherwise. Empty where none is named.
 */
function findLink(entry: DomElement): string {
  const pages = list(entry, "link").filter(
    (link) => (link.getAttribute("rel") || "alternate") === "alternate",
  );
  const named = pages.map((link) => link.getAttribute("href") ?? link.textContent?.trim()).find(Boolean);
  if (named !== undefined) return named;
  const guids = list(entry, "guid").filter((guid) => guid.getAttribute("isPermaLink") !== "false");
  return guids.map((guid) => guid.textContent?.trim() ?? "").find((id) => /^https?:/.test(id)) ?? "";
}

/** https://www.jsonfeed.org/version/1.1/ */
const jsonFeed = z.object({
  version: z.string().startsWith("https://jsonfeed.org/version/"),
  title: z.string().default(""),
  items: z.array(
    z.object({
      title: z.string().default(""),
      url: z.string().default(""),
      date_published: z.string().default(""),
      summary: z.string().default(""),
      content_text: z.string().default(""),
      content_html: z.string().default(""),
    }),
  ),
});

/** Undefined for JSON that is no feed. */
export function extractJsonFeed(value: unknown, address: string): Extracted | undefined {
  const { data } = jsonFeed.safeParse(value);
  return (
    data &&
    format(
      data.title,
      data.items.map((item) => ({
        title: item.title,
        link: item.url,
        date: item.date_published,
        summary: item.summary || item.content_text || item.content_html,
      })),
      address,
    )
  );
}

function format(title: string, entries: readonly Entry[], address: string): Extracted {
  const shown = entries.slice(0, mostEntries).map(({ title: name, link, date, summary }) => {
    const href =
      link === ""
        ? undefined
        : URL.parse(link.trim(), address)?.href.replaceAll("(", "%28").replaceAll(")", "%29");
    const words = toOneLine(decodeReferences(name)) || "(no title)";
    const head = href ? `[${words}](${href})` : words;
    const rest = toOneLine(stripTags(summary)).slice(0, summaryCharacters).toWellFormed();
    return [`- ${head}${date ? ` (${toOneLine(date)})` : ""}`, ...(rest ? [`  ${rest}`] : [])].join("\n");
  });
  const left = entries.length - shown.length;
  return {
    ...(title && { title: toOneLine(title) }),
    text: shown.join("\n"),
    remarks: [
      `a feed with ${entries.length} entries${left > 0 ? `, of which the first ${mostEntries} are here` : ""}`,
    ],
  };
}

/** The text of the first child of that name, whatever its prefix. */
function read(parent: DomElement, name: string): string {
  return list(parent, name)[0]?.textContent?.trim() ?? "";
}

function list(parent: DomElement, name: string): DomElement[] {
  return [...parent.children].filter(
    ({ tagName }) => tagName.replace(/^.*:/, "").toLowerCase() === name.toLowerCase(),
  );
}
