import { z } from "zod";
import { type ProtocolClient, withoutOwnTimeout } from "../transport/link.ts";

const maxPages = 100;
/** More than any server has of use; all of them are gone through at the start of each turn. */
const maxEntries = 5_000;
/** Of the whole list as JSON, in characters: as much as of one answer (`transport/http.ts`). */
const maxCharacters = 16 * 1_048_576;

const pageSchema = z.looseObject({
  nextCursor: z.string().optional(),
  // https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
  ttlMs: z.number().optional().catch(undefined),
});

const entriesSchema = z.array(z.unknown());

/** What stands in a list of a server, unparsed, so that a faulty entry does not cost the others. */
export interface Pages {
  entries: unknown[];
  /** How long the list may be used, as its server says; `Infinity` where it does not. */
  ttlMs: number;
  /** A sentence where the list does not end, or is too long. */
  cut?: string;
}

/** Reads a list page by page. @param kind what is listed: `tools/list` answers with `tools` */
export async function listPages(
  client: ProtocolClient,
  kind: "tools" | "prompts",
  signal: AbortSignal,
): Promise<Pages> {
  const entries: unknown[] = [];
  const cursors = new Set<string>();
  let cursor: string | undefined;
  let ttlMs = Infinity;
  let characters = 0;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const page = await client.request({ method: `${kind}/list`, params }, pageSchema, {
      signal,
      ...withoutOwnTimeout,
    });
    const listed = entriesSchema.parse(page[kind]);
    characters += JSON.stringify(listed).length;
    // No more, for a call takes only so many arguments.
    entries.push(...listed.slice(0, maxEntries + 1 - entries.length));
    ttlMs = Math.min(ttlMs, page.ttlMs ?? Infinity);
    if (entries.length > maxEntries || characters > maxCharacters)
      return {
        ...{ entries: entries.slice(0, maxEntries), ttlMs },
        cut: `The list of ${kind} is too long; it was cut after ${Math.min(entries.length, maxEntries)}.`,
      };
    cursor = page.nextCursor;
    if (cursor !== undefined && (cursors.has(cursor) || cursors.size >= maxPages))
      return {
        ...{ entries, ttlMs },
        cut: `The list of ${kind} does not end; it was cut after ${cursors.size + 1} pages.`,
      };
    if (cursor !== undefined) cursors.add(cursor);
  } while (cursor !== undefined);
  return { entries, ttlMs };
}
