import { z } from "zod";
import { type ProtocolClient, withoutOwnTimeout } from "../transport/link.ts";

const maxPages = 100;

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
  /** A sentence where the list does not end. */
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
  do {
    const params = cursor === undefined ? {} : { cursor };
    const page = await client.request({ method: `${kind}/list`, params }, pageSchema, {
      signal,
      ...withoutOwnTimeout,
    });
    entries.push(...entriesSchema.parse(page[kind]));
    ttlMs = Math.min(ttlMs, page.ttlMs ?? Infinity);
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
