import { z } from "zod";
import type { ServiceSearch } from "../../model.ts";
import type { WebResult } from "../../contracts/web-result.ts";

/** https://developers.openai.com/api/docs/guides/tools-web-search */
const searchCall = z.looseObject({
  type: z.literal("web_search_call"),
  status: z.string().optional(),
  action: z.looseObject({
    type: z.literal("search"),
    sources: z.array(z.looseObject({ url: z.string().optional() })).nullish(),
  }),
});

const citation = z.looseObject({
  type: z.literal("url_citation"),
  url: z.string(),
  title: z.string().default(""),
  start_index: z.int().nonnegative(),
  end_index: z.int().nonnegative(),
});

const said = z.looseObject({
  type: z.literal("message"),
  content: z.array(
    z.looseObject({ text: z.string().default(""), annotations: z.array(z.unknown()).default([]) }),
  ),
});

/**
 * What the service has found when it searched the web itself: the pages that its answer cites, with what it says of them,
 * and then the other sources, of which it tells the address alone.
 */
export function readSearches(output: readonly unknown[]): {
  search?: ServiceSearch;
  searches: number;
} {
  const calls = output.flatMap((item) => searchCall.safeParse(item).data ?? []);
  if (calls.length === 0) return { searches: 0 };
  const cited = output.flatMap((item) => said.safeParse(item).data?.content ?? []).flatMap(readCitations);
  const sources = calls.flatMap(({ action }) => action.sources ?? []).flatMap(({ url }) => url ?? []);
  const all = [...cited, ...sources.map((url) => ({ title: "", address: url, snippet: "" }))];
  const found = new Map<string, WebResult>();
  for (const { title, address: told, snippet } of all) {
    const address = withoutMark(told);
    const known = found.get(address);
    if (known) known.snippet = `${known.snippet} ${snippet}`.trim();
    else found.set(address, { title, address, snippet });
  }
  const isLost = found.size === 0 && calls.some(({ status }) => status === "failed");
  return {
    search: { results: [...found.values()], ...(isLost && { error: "failed" }) },
    searches: calls.length,
  };
}

/** The pages that a text cites, with what stands before the mark of each. */
function readCitations({ text, annotations }: z.infer<typeof said>["content"][number]): WebResult[] {
  let from = 0;
  return annotations
    .flatMap((entry) => citation.safeParse(entry).data ?? [])
    .map(({ title, url: address, start_index: start, end_index: end }) => {
      const snippet = text.slice(Math.max(from, start - longest), start).trim();
      from = end;
      return { title, address, snippet };
    });
}

/** Characters of a snippet. */
const longest = 600;

/** The service marks where the visit comes from, which is no part of the page's address. */
function withoutMark(address: string): string {
  const url = URL.parse(address);
  if (url?.searchParams.get("utm_source") !== "openai") return address;
  url.searchParams.delete("utm_source");
  return url.href;
}
