import type { RegistryReach } from "./site.ts";

/** A repository that a thread may reach by git's HTTP protocol, and nothing else of its host. */
export interface EgressRepository {
  /** The operator's, one for each entry of the settings. */
  name: string;
  /** As its host serves it, with `.git` where the host wants that. Who made it vouches for the address, also a private one. */
  url: URL;
  /**
   * The `authorization` header of a request, asked for each one: tokens come and go. Without a value none is needed.
   *
   * @param refused what the host has just answered with 401; then another is needed
   */
  authorize(refused?: string): Promise<Authorization>;
  /** What is run once after cloning. */
  setUp?: RepositorySetUp;
  /** Why a push may not pass; undefined when it may. Without a command, whether any may at this moment. */
  refusePush(command?: PushCommand): string | undefined;
}

export interface RepositorySetUp {
  command: string;
  /** Whose content decides whether it must be run again, on the branch; where there are none, each commit does. */
  files: readonly string[];
  branch?: string;
  /** All that it reaches. */
  reach: RegistryReach;
}

/** `reason` is one clause for the model. */
export type Authorization = { ok: true; value?: string } | { ok: false; reason: string };

/** One ref that a push changes. An id of nothing but zeros: there was none before, or there is to be none. */
export interface PushCommand {
  before: string;
  after: string;
  ref: string;
}

/** Every git's request for a repository: what of it is asked for. */
export type GitService = "git-upload-pack" | "git-receive-pack";

/** As programs in the sandbox name it: plain http, which the proxy takes, since it must read the requests. */
export function plainAddress({ url }: Pick<EgressRepository, "url">): string {
  return `http://${url.host}${trimGit(url.pathname)}.git`;
}

/** Other ways of writing the same address, which git is to take for {@link plainAddress}. */
export function otherAddresses({ url }: Pick<EgressRepository, "url">): string[] {
  const path = trimGit(url.pathname);
  const ways = [
    `https://${url.host}${path}`,
    `ssh://git@${url.hostname}${path}`,
    `git@${url.hostname}:${path.slice(1)}`,
  ];
  return ways.flatMap((way) => [`${way}.git`, way]);
}

/** The repository that a request is for, and what it wants there; undefined where it is for none. */
export function matchRepository(
  repositories: readonly EgressRepository[],
  asked: URL,
  method: string,
): { repository: EgressRepository; service: GitService; target: URL } | undefined {
  if (asked.protocol !== "http:") return undefined;
  for (const repository of repositories) {
    const { url } = repository;
    const own = trimGit(url.pathname);
    if (asked.host !== url.host || !asked.pathname.startsWith(own)) continue;
    const rest = `${asked.pathname.slice(own.length).replace(/^\.git(?=\/)/, "")}${asked.search}`;
    const service = services.get(`${method} ${rest}`);
    if (service) return { repository, service, target: new URL(`${url.pathname}${rest}`, url) };
  }
  return undefined;
}

/** The requests of the smart HTTP protocol (gitprotocol-http(5)). */
const services = new Map(
  (["git-upload-pack", "git-receive-pack"] as const).flatMap((service) => [
    [`GET /info/refs?service=${service}`, service],
    [`POST /${service}`, service],
  ]),
);

function trimGit(path: string): string {
  return path.replace(/\.git$/, "");
}
