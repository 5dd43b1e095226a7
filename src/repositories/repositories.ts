import { createHash } from "node:crypto";
import type { BranchChange, Repository, RepositoryAccess } from "../agent/contracts/repositories.ts";
import type { Speaker } from "../agent/messages.ts";
import type { RepositoriesOf } from "../sandbox/egress/egress.ts";
import { type EgressRepository, plainAddress } from "../sandbox/egress/repository.ts";
import type { RegistryReach } from "../sandbox/egress/site.ts";
import { fromBasic, type RepositoryCredential, toBasic } from "./credential.ts";
import {
  type ApiHeaders,
  type ApiPlace,
  type CallApi,
  createApi,
  type HostUser,
  type RepositoryHost,
} from "./hosts/host.ts";
import { kindOf, kinds, type RepositoryKind } from "./kinds.ts";
import { branchRoot, createPushPermits } from "./push-permits.ts";

/** A repository as the operator names it. */
export interface RepositorySettings extends Pick<Repository, "branch" | "push" | "setup" | "setupFiles"> {
  url: string;
  /** By the person's id. */
  coAuthors?: Readonly<Record<string, string>>;
  kind?: RepositoryKind;
  apiUrl?: string;
  user?: string;
}

/** What is remembered of a thread's work on a repository. */
export interface PushedBranch {
  host: string;
  /** Owner and name. */
  repository: string;
  thread: string;
  branch: string;
  commit?: string;
  requester: Speaker;
  pullRequest?: { number: number; url: string };
  at: number;
}

export interface RepositoriesOptions {
  settings: Readonly<Record<string, RepositorySettings>>;
  /** The names that the thread's channel has. */
  namesOf(thread: string): readonly string[];
  /** What the set-up of each of them reaches; nothing without it. */
  reachOf?(name: string): RegistryReach;
  /** Asked once for each of them. @param place where it is kept; `kind` is what its host speaks */
  credentialOf(name: string, place: ApiPlace & { kind: RepositoryKind }): RepositoryCredential;
  /** Keeps which thread a branch belongs to. */
  remember(entry: PushedBranch): Promise<void>;
  now(): number;
}

/** The repositories of an installation. */
export interface Repositories {
  /** For the proxies of the sandboxes. Absent where there are none. */
  egressOf?: RepositoriesOf;
  /** What the thread's tools have for one turn; undefined where that is nothing. */
  open(thread: string, requester: () => Speaker | undefined): RepositoryAccess | undefined;
  /** Whether that person has a say in the repository of that name. @throws Error where the host does not say it */
  mayWrite(name: string, person: HostUser): Promise<boolean>;
  /** What that person remarked on lines with the newest review; empty where that is nothing, or not told. */
  readRemarks(name: string, number: number, login: string): Promise<string>;
}

/** A repository with all that follows from its settings. */
interface Entry {
  repository: Repository;
  url: URL;
  host: string;
  user: string;
  api: string;
  header(token: string): Record<string, string>;
  requests?: RepositoryHost;
  credential: RepositoryCredential;
}

/** Senders of webhooks wait for ten seconds. */
const askWithinMs = 3_000;

export function createRepositories(options: RepositoriesOptions): Repositories {
  const { settings, namesOf, reachOf, credentialOf, remember, now } = options;
  const permits = createPushPermits();
  const entries = new Map(
    Object.entries(settings).map(([name, each]) => [name, createEntry(name, each, credentialOf)]),
  );
  const entriesOf = (thread: string) =>
    namesOf(thread).flatMap((name) => {
      const entry = entries.get(name);
      return entry ? [entry] : [];
    });

  function toEgress(
    thread: string,
    { repository: { name, setup, setupFiles: files = [], branch }, url, user, credential }: Entry,
  ): EgressRepository {
    const reach = reachOf?.(name) ?? { hosts: [], sites: [], variables: {} };
    return {
      ...{ name, url },
      ...(setup !== undefined && {
        setUp: { command: setup, files, reach, ...(branch !== undefined && { branch }) },
      }),
      async authorize(refused) {
        const token = await credential.token(refused === undefined ? undefined : fromBasic(refused));
        if (!token.ok) return token;
        return { ok: true, ...(token.value !== undefined && { value: toBasic(user, token.value) }) };
      },
      refusePush: (command) => permits.refuse({ thread, name }, command),
    };
  }

  return {
    ...(entries.size > 0 && {
      egressOf: (thread) => entriesOf(thread).map((entry) => toEgress(thread, entry)),
    }),

    async mayWrite(name, person) {
      const entry = entries.get(name);
      if (!entry?.requests?.mayWrite) return false;
      const may = await entry.requests.mayWrite(person, callOf(entry, AbortSignal.timeout(askWithinMs)));
      if (may === undefined) throw new Error(`${entry.host} does not say who may write there.`);
      return may;
    },

    async readRemarks(name, number, login) {
      const entry = entries.get(name);
      if (!entry?.requests?.readRemarks) return "";
      const call = callOf(entry, AbortSignal.timeout(askWithinMs));
      return await entry.requests.readRemarks({ number, login }, call);
    },

    open(thread, requester) {
      const own = entriesOf(thread);
      if (own.length === 0) return undefined;
      const note = (entry: Entry, what: Pick<PushedBranch, "branch" | "commit" | "pullRequest">) =>
        remember({
          ...{ host: entry.host, repository: entry.repository.title, thread, ...what },
          requester: requester() ?? { id: "", name: "" },
          at: now(),
        });
      const entryOf = ({ name }: Repository): Entry => {
        const entry = own.find(({ repository }) => repository.name === name);
        if (!entry) throw new Error(`The thread has no repository ${name}.`);
        return entry;
      };
      return {
        list: own.map(({ repository }) => repository),
        branchPrefix: `${branchRoot}${createHash("sha256").update(thread).digest("hex").slice(0, 8)}-`,
        requester,
        coAuthor({ name }) {
          const { coAuthors = {} } = settings[name] ?? {};
          const id = requester()?.id ?? "";
          return Object.hasOwn(coAuthors, id) ? coAuthors[id] : undefined;
        },
        async whilePushing(repository, change: BranchChange, work) {
          const { branch, commit } = change;
          await note(entryOf(repository), { branch, commit });
          return await permits.during({ thread, name: repository.name }, change, work);
        },
        async openPullRequest(repository, proposal, signal) {
          const entry = entryOf(repository);
          const { requests } = entry;
          if (!requests)
            return { ok: false, message: `${entry.host} has no pull requests that Heddle can open.` };
          const opened = await requests.open(proposal, callOf(entry, signal));
          if (opened.ok) {
            const { number, url } = opened;
            await note(entry, { branch: proposal.branch, pullRequest: { number, url } });
          }
          return opened;
        },
      };
    },
  };
}

/** Requests to the host's API, signed in as the repository is. */
function callOf({ api, header, credential }: Entry, signal: AbortSignal): CallApi {
  const headersFor = async (refused?: string): Promise<ApiHeaders> => {
    const token = await credential.token(refused);
    if (!token.ok) return token;
    if (token.value === undefined) return { ok: true, headers: {} };
    return { ok: true, token: token.value, headers: header(token.value) };
  };
  return createApi(api, headersFor, signal);
}

function createEntry(
  name: string,
  settings: RepositorySettings,
  credentialOf: RepositoriesOptions["credentialOf"],
): Entry {
  const { push, branch, setup, setupFiles } = settings;
  const given = new URL(settings.url);
  const path = given.pathname.replace(/\.git$/, "");
  const kind = settings.kind ?? kindOf(given);
  // Hosts of the known kinds all serve it so, and GitLab not otherwise.
  const url = kind === "git" ? given : new URL(`${path}.git`, given);
  const { user, apiOf, header, open } = kinds[kind];
  const api = (settings.apiUrl ?? apiOf(given)).replace(/\/$/, "");
  const [, owner = "", last = ""] = /^\/(.*)\/([^/]+)$/.exec(withoutPrefix(path, api)) ?? [];
  const place = { api, owner, name: last };
  const requests = open?.(place);
  return {
    repository: {
      ...{ name, title: `${owner}/${last}`, address: plainAddress({ url }), push },
      ...(branch !== undefined && { branch }),
      ...(setup !== undefined && { setup }),
      ...(setupFiles && { setupFiles }),
      ...(requests && { request: requests.request }),
    },
    ...{ url, host: url.host, user: settings.user ?? user, api, header },
    ...(requests && { requests }),
    credential: credentialOf(name, { ...place, kind }),
  };
}

/** The path of a repository as its host knows it, which may itself be served below a path: its API is there too. */
function withoutPrefix(path: string, api: string): string {
  const prefix = new URL(api).pathname.replace(/\/(?:api\/v\d+)?$/, "");
  return path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path;
}
