import type { ModelErrorKind } from "../model.ts";
import { readNetworkCode } from "../network/network-code.ts";
import { AttemptFailed } from "./attempt-failed.ts";

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

/** What a model's service may mean. */
type Refusal = Exclude<ModelErrorKind, "elsewhere">;

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
  const kind = classify(failure);
  const type = failure.headers?.get("content-type") ?? "";
  // No service says so of a key or a model.
  if (mayBePage.has(kind) && type.includes("html")) return createNotAModelError(type, failure.status);
  return new AttemptFailed(kind, describeKind(kind, failure.status), {
    detail: failure.detail.slice(0, detailLimit),
    retryAfterMs: failure.headers && readRetryAfter(failure.headers),
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

/** An answer that makes no sense, or has no end. A service that sends such is broken for the moment. */
export function createUnreadableError(detail: string): AttemptFailed {
  return new AttemptFailed("transient", "The model service sent an answer that cannot be read", { detail });
}

/** An answer that is no model's, from an address that is none: another kind of service, or a web page of whoever stands between. */
export function createNotAModelError(contentType: string, status = 200): AttemptFailed {
  const http = status === 200 ? "" : ` (HTTP ${status})`;
  const message = contentType.includes("html")
    ? `A web page came in place of the model's reply${http}, as from a proxy, a network that wants a sign-in first, or a wrong base URL; the administrator must check these.`
    : "The model service's address answers with something else than a model's reply; the administrator must check the base URL.";
  return new AttemptFailed("elsewhere", message, { detail: contentType });
}

/** Kinds of refusals that a proxy's web page looks like. */
const mayBePage: ReadonlySet<Refusal> = new Set(["auth", "not-found", "invalid-request"]);

/** Whether this is how a web page begins, whatever its type says: no answer of a model service does so. */
export function isWebPage(start: string): boolean {
  return /^\uFEFF?\s*</.test(start);
}

/** Characters of a service's own words that are kept; some answer with a whole HTML page. */
const detailLimit = 2_000;

const overflowWords =
  /(input|prompt) is too long|context[_ ](length|window|limit)|maximum (context|(prompt|model|allowed input) length)|too many (input )?tokens|exceeds? the (available context|maximum number of tokens)|max_tokens must be at least 1, got -/i;
const quotaWords =
  /insufficient_(quota|balance)|credit balance|exceeded your current quota|spend_limit_reached/i;
const filterWords = /content[_ ](filter|policy)|usage polic|_policy(_violation)?\b/i;

/** What a status means by itself. Any other of the server's (5xx) is transient, of the client's invalid. */
const kindsByStatus: Partial<Record<number, Refusal>> = {
  401: "auth",
  402: "quota",
  403: "auth",
  404: "not-found",
  408: "transient",
  409: "transient",
  413: "overflow",
  429: "transient",
};

/** Statuses that some services also send when the credit is used up; of 429s only the others are worth a retry. */
const mayMeanQuota: ReadonlySet<number> = new Set([400, 403, 429]);

function classify({ status, code, detail }: ServiceFailure): Refusal {
  const words = `${code ?? ""} ${detail}`;
  if (mayMeanQuota.has(status) && quotaWords.test(words)) return "quota";
  return kindsByStatus[status] ?? (status >= 500 ? "transient" : classifyWords(words));
}

function classifyWords(words: string): Refusal {
  if (overflowWords.test(words)) return "overflow";
  return filterWords.test(words) ? "content-filter" : "invalid-request";
}

function describeKind(kind: Refusal, status: number): string {
  const http = `(HTTP ${status})`;
  const sentences: Record<Refusal, string> = {
    auth: `The model service refused the API key ${http}; the administrator must check it.`,
    quota: `The model service has no credit left for this API key ${http}; the administrator must add some.`,
    "not-found": `The model service does not know the configured model ${http}; the administrator must check the model's name and the base URL.`,
    overflow: `The conversation no longer fits into the model's context window ${http}; start a new thread or ask for less at once.`,
    "content-filter": `The model service's content filter blocked the request ${http}.`,
    "invalid-request": `The model service refused the request as invalid ${http}; the administrator finds its reason in the log.`,
    transient: `The model service ${describeTransient(status)} ${http}`,
  };
  return sentences[kind];
}

function describeTransient(status: number): string {
  if (status === 429) return "limits our requests";
  return status === 503 || status === 529 ? "is busy" : "failed";
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date; in milliseconds; undefined when absent or invalid. */
function readRetryAfter(headers: Headers): number | undefined {
  const exact = headers.get("retry-after-ms");
  const coarse = headers.get("retry-after");
  const ms = exact !== null ? Number(exact) : coarse === null ? Number.NaN : parseRetryAfter(coarse);
  return Number.isFinite(ms) && ms >= 0 ? Math.ceil(ms) : undefined;
}

function parseRetryAfter(value: string): number {
  const seconds = Number(value);
  return Number.isNaN(seconds) ? Date.parse(value) - Date.now() : seconds * 1000;
}
