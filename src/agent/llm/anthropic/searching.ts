import { z } from "zod";
import type { ServiceSearch } from "../../model.ts";
import type { WebResult } from "../../contracts/web-result.ts";

/**
 * What the service finds when it searches the web itself. A result tells title, address and age; what stands on the page
 * is sealed for the service, but for what the answer cites of it.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool
 */
const result = z.looseObject({
  type: z.literal("web_search_result"),
  url: z.string(),
  title: z.string().default(""),
  page_age: z.string().nullish(),
});

/** An error stands in place of the results. */
export const foundBlock = z.looseObject({
  type: z.literal("web_search_tool_result"),
  content: z.unknown(),
});
const failure = z.looseObject({ error_code: z.string().regex(/^\w{1,60}$/) });

const citation = z.looseObject({
  type: z.literal("web_search_result_location"),
  url: z.string(),
  cited_text: z.string(),
});

export const citedDelta = z.looseObject({ type: z.literal("citations_delta"), citation: z.unknown() });

/** Collects it, event by event. */
export class Searching {
  readonly #found = new Map<string, WebResult>();
  #hasSearched = false;
  #error: string | undefined;

  start(block: { type: string; content?: unknown }): void {
    if (block.type !== "web_search_tool_result") return;
    this.#hasSearched = true;
    this.#error = failure.safeParse(block.content).data?.error_code ?? this.#error;
    if (!Array.isArray(block.content)) return;
    for (const entry of block.content) {
      const { data } = result.safeParse(entry);
      if (!data || this.#found.has(data.url)) continue;
      const { url: address, title, page_age: date } = data;
      this.#found.set(address, { title, address, snippet: "", ...(date && { date }) });
    }
  }

  grow(delta: { type: string; citation?: unknown }): void {
    const { data } = citation.safeParse(delta.citation);
    const cited = data && this.#found.get(data.url);
    if (!cited || cited.snippet.includes(data.cited_text)) return;
    cited.snippet = `${cited.snippet} ${data.cited_text}`.trim();
  }

  /** What is cited comes first. Nothing where there was no search. */
  outcome(): { search?: ServiceSearch } {
    if (!this.#hasSearched) return {};
    const all = [...this.#found.values()];
    const results = all.toSorted((a, b) => Number(a.snippet === "") - Number(b.snippet === ""));
    return { search: { results, ...(this.#error !== undefined && { error: this.#error }) } };
  }
}
