import type { ModelErrorKind } from "../model.ts";
import { readNetworkCode } from "../network-code.ts";
import { AttemptFailed } from "./attempt.ts";

/** What a service said when it refused a request or broke off an answer. */
export interface ServiceFailure {
  /** The HTTP status, or the one that an error inside a stream stands for. */
  status: number;
  /** The service's own error code or type, where it has one. */
  code?: string | null | undefined;
  /** The service's own words; they decide the kind where the status does not, and go to the log only. */
  detail: string;
  headers?: Headers | undefined;
}

/** What a service said to a question that is no model call. Without a status it could not be reached. */
export interface ServiceAnswer {
  status: number | undefined;
  /** The service's own word for the error; may be empty. */
  code: string;
}

/**
 * Says what a refused request means for the caller. Services of both protocols agree on the status codes; an
 * exceeded context window, used-up credit and a content filter are told by code or words only.
 */
export function toServiceFailure(failure: ServiceFailure): AttemptFailed {
  const kind = kindOf(failure);
  return new AttemptFailed(kind, sentence(kind, failure.status), {
    detail: failure.detail.slice(0, detailLimit),
    retryAfterMs: failure.headers && retryAfterMs(failure.headers),
  });
}

/** A connection that could not be made, or broke: refused, unknown host, reset. `detail` is for the log only. */
export function toNetworkFailure(cause: unknown, detail = String(cause)): AttemptFailed {
  const code = readNetworkCode(cause);
  const how = code === undefined ? "" : ` (${code})`;
  return new AttemptFailed("transient", `The connection to the model service failed${how}`, {
    detail: detail.slice(0, detailLimit),
  });
}

/** An answer that is no model's, from an address that is none: a web page, another kind of service. */
export function createNotAModelError(contentType: string): AttemptFailed {
  return new AttemptFailed(
    "not-found",
    "The model service's address answers with something else than a model's reply; the administrator must check the base URL.",
    { detail: contentType },
  );
}

/** Characters of a service's own words that are kept; some answer with a whole HTML page. */
const detailLimit = 2_000;

const overflowWords =
  /prompt is too long|context[_ ](length|window|limit)|maximum context|too many (input )?tokens|exceeds? the (available context|maximum number of tokens)/i;
const quotaWords =
  /insufficient_(quota|balance)|credit balance|exceeded your current quota|spend_limit_reached/i;
const filterWords = /content[_ ](filter|policy)|usage polic|_policy(_violation)?\b/i;

function kindOf({ status, code, detail }: ServiceFailure): ModelErrorKind {
  const words = `${code ?? ""} ${detail}`;
  // 429 covers both "slower, please" and "no credit left"; only the first one is worth another try.
  if (status === 402 || ((status === 400 || status === 403 || status === 429) && quotaWords.test(words)))
    return "quota";
  if (status === 408 || status === 409 || status === 429 || status >= 500) return "transient";
  if (status === 401 || status === 403) return "auth";
  if (status === 404) return "not-found";
  if (status === 413 || overflowWords.test(words)) return "overflow";
  if (filterWords.test(words)) return "content-filter";
  return "invalid-request";
}

function sentence(kind: ModelErrorKind, status: number): string {
  const http = `(HTTP ${status})`;
  const sentences: Record<ModelErrorKind, string> = {
    auth: `The model service refused the API key ${http}; the administrator must check it.`,
    quota: `The model service has no credit left for this API key ${http}; the administrator must add some.`,
    "not-found": `The model service does not know the configured model ${http}; the administrator must check the model's name and the base URL.`,
    overflow: `The conversation no longer fits into the model's context window ${http}; start a new thread or ask for less at once.`,
    "content-filter": `The model service's content filter blocked the request ${http}.`,
    "invalid-request": `The model service refused the request as invalid ${http}; the administrator finds its reason in the log.`,
    transient: `The model service ${transientCause(status)} ${http}`,
  };
  return sentences[kind];
}

function transientCause(status: number): string {
  if (status === 429) return "limits our requests";
  return status === 503 || status === 529 ? "is busy" : "failed";
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date; undefined when absent or senseless. */
function retryAfterMs(headers: Headers): number | undefined {
  const exact = headers.get("retry-after-ms");
  const coarse = headers.get("retry-after");
  const ms = exact !== null ? Number(exact) : coarse === null ? Number.NaN : secondsOrDate(coarse);
  return Number.isFinite(ms) && ms >= 0 ? Math.ceil(ms) : undefined;
}

function secondsOrDate(value: string): number {
  const seconds = Number(value);
  return Number.isNaN(seconds) ? Date.parse(value) - Date.now() : seconds * 1000;
}
