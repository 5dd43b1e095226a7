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
}

const answerWithinMs = 30_000;
/** The longest answer that is read, in characters. */
const mostCharacters = 2_000_000;

/** @param headersFor what signs in; asked again, with what was refused, when the host answers 401 */
export function createApi(
  api: string,
  headersFor: (refused?: string) => Promise<{ token?: string; headers: Record<string, string> } | undefined>,
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
        redirect: "error",
        signal: AbortSignal.any([signal, AbortSignal.timeout(answerWithinMs)]),
      });
      return { status: response.status, body: parseJson((await response.text()).slice(0, mostCharacters)) };
    } catch {
      return { status: 0, body: undefined };
    }
  };
  return async (method, path, body) => {
    const first = await headersFor();
    if (!first) return { status: 401, body: undefined };
    const answer = await once(method, path, first.headers, body);
    if (answer.status !== 401 || first.token === undefined) return answer;
    const second = await headersFor(first.token);
    return second && second.token !== first.token ? await once(method, path, second.headers, body) : answer;
  };
}

/** What became of a request that did not work, as one sentence. */
export function describeFailure({ status, body }: ApiAnswer, host: string): OpenedPullRequest {
  const said = findMessages(body).join("; ").slice(0, 500);
  const words = said === "" ? "" : ` It says: ${said.replace(/[.\s]*$/, "")}.`;
  switch (true) {
    case status === 0:
      return { ok: false, outage: true, message: `${host} did not answer.` };
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
