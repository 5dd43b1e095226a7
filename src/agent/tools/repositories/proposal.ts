import { createHash } from "node:crypto";
import type { ExecRequest, Sandbox } from "../../../sandbox/sandbox.ts";
import { workspaceRoot } from "../../../sandbox/sandbox.ts";
import { removeHidden } from "../../text/hidden-characters.ts";
import type { Repository } from "../../contracts/repositories.ts";
import { quoteArgument } from "../quote.ts";
import { differenceScript, proposeScript } from "./git-scripts.ts";

/** What a push would bring to a repository, as the folder is at this moment. */
export interface Proposal {
  base: string;
  branch: string;
  tree: string;
  /** Commits that the new one follows, with blanks between. */
  parents: string;
  /** What it is compared with. */
  since: string;
  /** Whether the branch is not at the host yet. */
  isNew: boolean;
  /** The same for the same content in the same place. */
  hash: string;
}

/** `message` is one sentence for the model. */
export type Failed = { ok: false; message: string; exitCode?: number | null };

export interface Difference {
  files: ChangedFile[];
  patch: string;
  /** Whether the patch is cut. */
  isCut: boolean;
}

export interface ChangedFile {
  path: string;
  /** What it was called before, where that is another name. */
  formerly?: string;
  /** Undefined for what is no text. */
  added: number | undefined;
  removed: number | undefined;
}

/** The whole difference is kept in the journal and shown to people, in bytes. */
const mostPatchBytes = 200_000;
/** The list of files with their lines, in bytes. */
const mostListBytes = 4_000_000;
const scriptMs = 600_000;
/** A look before the call: nobody waits longer for a host that is silent. */
const lookMs = 60_000;

/** `isUncalled`: a look that belongs to no running call. */
export interface ScriptOptions {
  signal?: AbortSignal;
  isUncalled?: boolean;
}

/** Runs one of the scripts, with these as `$1`, `$2` and so on. */
export async function runScript(
  sandbox: Sandbox,
  script: string,
  parameters: readonly string[],
  {
    signal,
    isUncalled,
    ...rest
  }: ScriptOptions & Pick<ExecRequest, "maxOutputBytes" | "repository" | "setUpOf" | "hasOwnFolder"> = {},
): Promise<{ ok: true; text: string; isCut: boolean } | Failed> {
  const command = [`set -- ${parameters.map(quoteArgument).join(" ")}`, script].join("\n");
  const result = await sandbox.exec({
    command,
    timeoutMs: isUncalled ? lookMs : scriptMs,
    ...(signal && { signal }),
    ...rest,
    ...(isUncalled && { isUncalled }),
  });
  if (result.end === "exit" && result.exitCode === 0) {
    return { ok: true, text: result.stdout.toString(), isCut: result.droppedBytes > 0 };
  }
  const message = (result.problem ?? readComplaint(result.stderr)) || `git did not finish (${result.end})`;
  return { ok: false, message, exitCode: result.exitCode };
}

/** A host says in up to some twenty lines why it takes no push, among empty ones, and git adds three. */
const mostLines = 25;

function readComplaint(stderr: Buffer): string {
  const lines = removeHidden(stderr.toString()).split("\n");
  const said = lines.filter((line) => !/^(?:remote:)?\s*$/.test(line)).map((line) => line.trim());
  return said.slice(-mostLines).join("; ");
}

export function folderOf({ name }: Repository): string {
  return `${workspaceRoot}/${name}`;
}

/** @param wanted.branch to go on with; without it the one that the folder is on, if it is the thread's, or else a new one */
export async function propose(
  repository: Repository,
  wanted: { base?: string; branch?: string; prefix: string; slug: string },
  sandbox: Sandbox,
  options: ScriptOptions,
): Promise<({ ok: true } & Proposal) | Failed> {
  const { base = repository.branch ?? "", branch = "", prefix, slug } = wanted;
  const parameters = [repository.address, folderOf(repository), base, branch, prefix, `${prefix}${slug}`];
  const run = await runScript(sandbox, proposeScript, parameters, options);
  if (!run.ok) return run;
  const values = new Map(
    run.text.split("\n").map((line) => {
      const at = line.indexOf(" ");
      return [line.slice(0, at), line.slice(at + 1)] as const;
    }),
  );
  const read = (key: string) => values.get(key) ?? "";
  const [tree, parents, since] = [read("tree"), read("parents"), read("since")];
  const isSound =
    [tree, since].every((id) => /^[0-9a-f]{40,64}$/.test(id)) &&
    /^[0-9a-f]{40,64}( [0-9a-f]{40,64})?$/.test(parents);
  if (!isSound || !read("branch").startsWith(prefix)) {
    return { ok: false, message: "git's answer could not be read" };
  }
  const hash = createHash("sha256")
    .update(`${read("branch")} ${read("base")} ${tree} ${parents}`)
    .digest("hex");
  return {
    ok: true,
    ...{ base: read("base"), branch: read("branch"), tree, parents, since, hash },
    isNew: read("isNew") === "new",
  };
}

export async function readDifference(
  repository: Repository,
  { base, branch, isNew, parents, since, tree }: Proposal,
  sandbox: Sandbox,
  options: ScriptOptions,
): Promise<({ ok: true } & Difference) | Failed> {
  const claimed = [base, branch, isNew ? "new" : "", parents, since, tree];
  const parameters = [folderOf(repository), repository.address, ...claimed, String(mostPatchBytes + 1)];
  const run = await runScript(sandbox, differenceScript, parameters, {
    ...options,
    hasOwnFolder: true,
    maxOutputBytes: mostPatchBytes + mostListBytes,
  });
  if (!run.ok) return run;
  // The list ends with an empty name, also where it is nothing but that.
  const end = run.text.startsWith("\0") ? 0 : run.text.indexOf("\0\0") + 1;
  if (end === 0 && !run.text.startsWith("\0"))
    return { ok: false, message: "more files are changed than can be listed" };
  const [list, patch] = [run.text.slice(0, end), run.text.slice(end + 1)];
  const files = readNumstat(list);
  return { ok: true, files, patch, isCut: run.isCut || Buffer.byteLength(patch) > mostPatchBytes };
}

/** As `--numstat -z` writes it (git-diff-tree(1)): two names stand alone, behind an empty one, where a file was renamed. */
function readNumstat(list: string): ChangedFile[] {
  const count = (text: string) => (text === "-" ? undefined : Number(text));
  return [...list.matchAll(/(\d+|-)\t(\d+|-)\t(?:\0([^\0]+)\0)?([^\0]+)\0/g)].map(
    ([, added = "-", removed = "-", formerly, path = ""]) => ({
      ...{ path, added: count(added), removed: count(removed) },
      ...(formerly !== undefined && { formerly }),
    }),
  );
}

/** What runs by itself at the host, or at the services that watch it, when it is pushed. */
const workflows = new RegExp(
  [
    String.raw`^\.(?:github|gitea|forgejo)/(?:workflows|actions)/`,
    String.raw`^\.(?:gitlab-ci|travis|drone|cirrus|woodpecker)\.ya?ml$`,
    String.raw`^\.(?:circleci|buildkite|woodpecker|gitlab/ci)/`,
    String.raw`^(?:azure-pipelines|bitbucket-pipelines|appveyor)\.ya?ml$|^Jenkinsfile$`,
  ].join("|"),
);

/** The difference in a few words, for people. */
export function describeDifference({ files, isCut }: Difference): string {
  const sum = (key: "added" | "removed") => files.reduce((total, file) => total + (file[key] ?? 0), 0);
  const figures = `${files.length} ${files.length === 1 ? "file" : "files"} changed, +${sum("added")} −${sum("removed")}`;
  const unseen = files.filter(({ added }) => added === undefined).length;
  return [
    `${figures}.`,
    ...(files.some(({ path, formerly = "" }) => workflows.test(path) || workflows.test(formerly))
      ? ["⚠️ It changes what the host runs by itself (CI)."]
      : []),
    ...(unseen > 0
      ? [`⚠️ ${unseen === 1 ? "One file is" : `${unseen} files are`} no text: what is in there is not shown.`]
      : []),
    ...(isCut ? ["⚠️ The difference is too long to be shown whole."] : []),
  ].join(" ");
}
