import type { WebQuery } from "../../agent/contracts/web.ts";
import type { WebResult } from "../../agent/contracts/web-result.ts";

/** A search service: how it is asked, and how its answer is read. */
export interface SearchService {
  /** For people and the model. */
  title: string;
  /** Where it usually is. */
  url: string;
  request(
    query: WebQuery,
    url: string,
    key: string,
  ): { address: URL; method?: "POST"; headers: Record<string, string>; body?: string };
  /** Undefined for what it never answers. */
  parse(body: unknown): WebResult[] | undefined;
  /** Why an answer without results is none, in one sentence; undefined where nothing was found. */
  explainEmpty?(body: unknown): string | undefined;
  /** What some statuses mean there, in one sentence. */
  refusals?: Record<number, string>;
  /** Whether it refuses the key, where its status does not say so. */
  refusesKey?(body: unknown): boolean;
}
