import { AnswerTooLarge, boundAnswer } from "../../agent/network/bounded-answer.ts";
import { parseJson } from "../../agent/text/text.ts";
import type { OpenedPullRequest, PullRequestProposal } from "../../agent/contracts/repositories.ts";

/** How pull requests are opened where a repository is kept. */
export interface RepositoryHost {
  /** What the host calls them. */
  request: "pull request" | "merge request";
  /** Never throws for an expected failure. */
  open(proposal: PullRequestProposal, call: CallApi): Promise<OpenedPullRequest>;
  /** Whether that person has a say in the repository; undefined where it is not told. Absent where events tell it. */
  mayWrite?(person: HostUser, call: CallApi): Promise<boolean | undefined>;
  /** What that person remarked on lines with the newest review. Absent where events tell it. */
  readRemarks?(review: { number: number; login: string }, call: CallApi): Promise<string>;
}

/** Somebody as the host knows them. */
export interface HostUser {
  id?: number;
  login: string;
}

/** Where a repository is kept, in the words of its host's API. */
export interface ApiPlace {
  /** The base of the API, without a slash at its end. */
  api: string;
  owner: string;
  name: string;
}

/** One request to the host's API, signed in. */
export type CallApi = (method: "GET" | "POST" | "DELETE", path: string, body?: object) => Promise<ApiAnswer>;

export interface ApiAnswer {
  /** 0 where there was no answer. */
  status: number;
  body: unknown;
  /** The host has counted too many requests, and takes more after so many seconds. */
  busySeconds?: number;
  /** Why nothing was asked: there is no credential. One clause. */
  unasked?: string;
}

/** What signs in at a host, or why nothing does, as one clause. */
export type ApiHeaders =
  | { ok: true; token?: string; headers: Record<string, string> }
  | { ok: false; reason: string };

const answerWithinMs = 30_000;
/** The longest answer that is read, in bytes; of a longer one the status counts. */
const mostBytes = 2_000_000;

/** @param headersFor what signs in; asked again, with what was refused, when the host answers 401 */
export function createApi(
  api: string,
  headersFor: (refused?: string) => Promise<ApiHeaders>,
  signal: AbortSignal,
): CallApi {
  const once = async (method: string, path: string, headers: Record<string, string>, body?: object) => {
    try {
      const response = await fetch(`${api}${path}`, {
        method,
        headers: {
          "user-agent": "heddle",
          ...headers,
          ...(body && { "content-type": "application/json" }),
        },
        ...(body && { body: JSON.stringify(body) }),
        // A token is for this host alone.
        redirect: "manual",
        signal: AbortSignal.any([signal, AbortSignal.timeout(answerWithinMs)]),
      });
      const { status } = response;
      const answer = { status, body: parseJson(await readText(response)) };
      const busySeconds = readBusySeconds(answer, response.headers);
      return { ...answer, ...(busySeconds !== undefined && { busySeconds }) };
    } catch {
      return { status: 0, body: undefined };
    }
  };
  return async (method, path, body) => {
    const first = await headersFor();
    if (!first.ok) return { status: 401, body: undefined, unasked: first.reason };
    const answer = await once(method, path, first.headers, body);
    if (answer.status !== 401 || first.token === undefined) return answer;
    const second = await headersFor(first.token);
    if (!second.ok) return { ...answer, unasked: second.reason };
    return second.token !== first.token ? await once(method, path, second.headers, body) : answer;
  };
}

async function readText(response: Response): Promise<string> {
  try {
    return await boundAnswer(response, mostBytes).text();
  } catch (error) {
    if (error instanceof AnswerTooLarge) return "";
    throw error;
  }
}

/** Where a host that has counted too many requests does not say when it takes more. */
const usuallyBusySeconds = 60;

/**
 * GitHub limits requests with 403 as well as 429, and says so in headers or in words; the others do it with 429.
 * https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit
 * https://docs.gitlab.com/administration/settings/user_and_ip_rate_limits/#response-headers
 */
function readBusySeconds({ status, body }: ApiAnswer, headers: Headers): number | undefined {
  const read = (name: string) => /^\d{1,10}$/.exec(headers.get(name) ?? "")?.[0];
  const after = read("retry-after");
  const isExhausted = headers.get("x-ratelimit-remaining") === "0";
  const isLimit =
    after !== undefined || isExhausted || findMessages(body).some((text) => /rate limit/i.test(text));
  if (status !== 429 && !(status === 403 && isLimit)) return undefined;
  if (after !== undefined) return Number(after);
  const reset = isExhausted ? read("x-ratelimit-reset") : undefined;
  return reset === undefined
    ? usuallyBusySeconds
    : Math.max(1, Number(reset) - Math.floor(Date.now() / 1_000));
}

/** What keeps a host from answering, whatever it is asked, as one clause; undefined where it is something else. */
export function describeTrouble(
  { status, busySeconds, unasked }: ApiAnswer,
  host: string,
): string | undefined {
  if (unasked !== undefined) return unasked;
  if (status === 0) return `${host} did not answer`;
  if (busySeconds !== undefined) {
    const minutes = Math.max(1, Math.ceil(busySeconds / 60));
    return `${host} has had too many requests; it takes more in ${minutes} ${minutes === 1 ? "minute" : "minutes"}`;
  }
  return undefined;
}

/** A renamed repository, as a rule: its new name is not followed, since the credential is for the one that was named. */
export function describeMove({ status }: ApiAnswer, host: string): string | undefined {
  if (status < 300 || status > 399) return undefined;
  return `${host} says that the repository has moved (${status}); ask the operator to correct its url in repositories`;
}

/** What became of a request that did not work, as one sentence. */
export function describeFailure(answer: ApiAnswer, host: string): OpenedPullRequest {
  const { status, body, busySeconds } = answer;
  const trouble = describeTrouble(answer, host) ?? describeMove(answer, host);
  if (trouble !== undefined) {
    const outage = status === 0 || busySeconds !== undefined;
    return { ok: false, message: `${trouble}.`, ...(outage && { outage }) };
  }
  const said = findMessages(body).join("; ").slice(0, 500);
  const words = said === "" ? "" : ` It says: ${said.replace(/[.\s]*$/, "")}.`;
  switch (true) {
    case status === 401:
      return { ok: false, message: `${host} does not accept Heddle's credential; ask the operator.` };
    case status === 403 || status === 404:
      return {
        ok: false,
        message: `${host} does not let Heddle open it (${status}); the operator must give its token more rights.${words}`,
      };
    case status >= 500:
      return { ok: false, outage: true, message: `${host} failed (${status}).${words}` };
    default:
      return { ok: false, message: `${host} refused it (${status}).${words}` };
  }
}

/** The words of an error: `message` and `errors[].message` of GitHub and Gitea, `message` and `error` of GitLab. */
export function findMessages(body: unknown): string[] {
  if (typeof body === "string") return [body];
  if (Array.isArray(body)) return body.flatMap(findMessages);
  if (typeof body !== "object" || body === null) return [];
  const { message, error, errors } = body as Record<string, unknown>;
  return [message, error, errors].flatMap(findMessages);
}
