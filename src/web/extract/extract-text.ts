import { parseExactJson } from "../../agent/text/exact-json.ts";
import { formatJson } from "../../agent/text/format-json.ts";
import { dropByteOrderMark } from "../../agent/text/text.ts";
import { decodeText } from "./charset.ts";
import type { Extracted, ExtractOrder } from "./extracted.ts";

/** The longest text of a page, in characters. */
const mostCharacters = 1_000_000;

/** The text of what an address answered, by its type and, where that says little, by its beginning. */
export async function extractText({
  body,
  mediaType,
  charset,
  address,
  whole,
}: ExtractOrder): Promise<Extracted> {
  const { text, remarks } = decodeText(body, charset);
  const found = await extractByType(text, { mediaType, address, whole });
  const all = [...remarks, ...found.remarks];
  if (found.text.length <= mostCharacters) return { ...found, remarks: all };
  return {
    ...found,
    text: found.text.slice(0, mostCharacters).toWellFormed(),
    remarks: [...all, `only the first ${mostCharacters} of ${found.text.length} characters were kept`],
  };
}

/** What parses is loaded only for what is to be parsed: it takes longer to load than most pages to read. */
async function extractByType(
  text: string,
  { mediaType, address, whole }: Pick<ExtractOrder, "mediaType" | "address" | "whole">,
): Promise<Extracted> {
  if (/[/+]json$/.test(mediaType)) return extractJson(text, address);
  const isXml = /[/+]xml$/.test(mediaType) && mediaType !== "application/xhtml+xml";
  const isHtml = mediaType === "text/html" || mediaType === "application/xhtml+xml";
  if (((isXml || mediaType === "") && isFeed(text)) || (isHtml && beginsAsFeed(text))) {
    const { extractFeed } = await import("./feed.ts");
    return extractFeed(text, address);
  }
  const looksLikeHtml = /^\s*(<!doctype html|<html)/i.test(text.slice(0, 500));
  if (isHtml || (looksLikeHtml && mediaType !== "text/plain")) {
    const { extractHtml } = await import("./html.ts");
    return extractHtml(text, address, whole);
  }
  return { text: dropByteOrderMark(text).replaceAll("\r\n", "\n").trimEnd(), remarks: [] };
}

/** Whether XML is a feed: RSS 2.0, RSS 1.0 (RDF) or Atom (RFC 4287). */
function isFeed(xml: string): boolean {
  return /<(rss|feed|rdf:RDF)[\s>]/.test(xml.slice(0, 2_000));
}

/** Whether what is sent as a page is a feed from its first element on; pages may hold RDF further below. */
function beginsAsFeed(text: string): boolean {
  return /^\s*(<\?xml[^>]{0,200}>\s*)?<(rss|feed|rdf:RDF)[\s>]/.test(text.slice(0, 2_000));
}

async function extractJson(text: string, address: string): Promise<Extracted> {
  let value: unknown;
  try {
    value = parseExactJson(text);
  } catch {
    return { text, remarks: ["it says that it is JSON, and is none"] };
  }
  const isJsonFeed = text.slice(0, 2_000).includes("jsonfeed.org/version/");
  const feed = isJsonFeed ? (await import("./feed.ts")).extractJsonFeed(value, address) : undefined;
  return feed ?? { text: formatJson(value), remarks: [] };
}
