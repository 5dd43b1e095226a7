import { mayPass } from "../../agent/network/passing-status.ts";
import { parseJson } from "../../agent/text/text.ts";
import type { Masker } from "../../agent/secrets/masker.ts";
import type { WebFindings, WebQuery, WebSearch } from "../../agent/contracts/web.ts";
import type { WebResult } from "../../agent/contracts/web-result.ts";
import { brave } from "./brave.ts";
import { holdsSecret, secretMessage, tidyResult } from "./results.ts";
import { searxng } from "./searxng.ts";
import type { SearchService } from "./service.ts";
import { tavily } from "./tavily.ts";

export type ServiceName = "brave" | "tavily" | "searxng";

const services: Record<ServiceName, SearchService> = { brave, tavily, searxng };

export interface SearchOptions {
  service: ServiceName;
  /** Where it is, if not at its usual address. */
  url?: string;
  /** Empty for a service that takes none. */
  key: string;
  masker: Masker;
  now(): number;
  /** Default 15 s. */
  deadlineMs?: number;
}

const mostBytes = 2 * 1_048_576;

/**
 * Searches with a service of the operator's choice. Its address is the operator's own and may be private, so it is
 * reached directly; no redirect is followed, which the key would go along with.
 */
export function createSearch(options: SearchOptions): WebSearch {
  const { masker, now, deadlineMs = 15_000 } = options;
  const service = services[options.service];

  return {
    async find(query, signal) {
      if (holdsSecret(query, masker)) return { ok: false, message: secretMessage };
      const deadline = AbortSignal.timeout(deadlineMs);
      try {
        const answer = await ask(service, query, options, AbortSignal.any([signal, deadline]));
        if (!answer.ok) return answer;
        return { ok: true, service: service.title, results: answer.results.slice(0, query.count), at: now() };
      } catch {
        if (signal.aborted) return { ok: false, message: "it was ended." };
        const message = deadline.aborted
          ? `${service.title} did not answer within ${deadlineMs / 1_000} s.`
          : `${service.title} could not be reached.`;
        return { ok: false, message, outage: true };
      }
    },
  };
}

type Answer = { ok: true; results: WebResult[] } | Extract<WebFindings, { ok: false }>;

async function ask(
  service: SearchService,
  query: WebQuery,
  { url = service.url, key }: SearchOptions,
  signal: AbortSignal,
): Promise<Answer> {
  const { address, ...request } = service.request(query, url, key);
  const response = await fetch(address, { ...request, redirect: "manual", signal });
  const body = await readLimited(response);
  if (!response.ok) {
    const message = explainStatus(response.status, body, service);
    const outage = mayPass(response.status);
    return { ok: false, message, ...(outage && { outage }) };
  }
  const found = body === undefined ? undefined : service.parse(body);
  if (!found) {
    return { ok: false, message: `${service.title} answered in a form that is not known.`, outage: true };
  }
  const why = found.length === 0 ? service.explainEmpty?.(body) : undefined;
  if (why !== undefined) return { ok: false, message: why };
  return { ok: true, results: found.flatMap(tidyResult) };
}

/** Undefined where it is too much, or no JSON. */
async function readLimited({ body }: Response): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > mostBytes) return undefined;
  }
  return parseJson(Buffer.concat(chunks).toString());
}

function explainStatus(
  status: number,
  body: unknown,
  { title, refusals, refusesKey }: SearchService,
): string {
  const own = refusals?.[status];
  if (own !== undefined) return own;
  if (status === 401 || status === 403 || refusesKey?.(body) === true)
    return `${title} does not accept the key; the operator must look at it.`;
  if (status === 429) return `${title} takes no more searches at the moment (429); try again later.`;
  if (status >= 500) return `${title} has an error of its own (${status}).`;
  return `${title} refused the query (${status}).`;
}
