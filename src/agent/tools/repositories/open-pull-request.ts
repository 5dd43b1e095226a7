import { z } from "zod";
import { createFailure } from "../dispatch/run-tool.ts";
import type { Sandbox } from "../../../sandbox/sandbox.ts";
import type { PolicyDecision } from "../../policy-decision.ts";
import { openPullRequestName, type Repository, type RepositoryAccess } from "../../contracts/repositories.ts";
import { defineSandboxTool, type SandboxToolContext, type Tool, type ToolResult } from "../tool.ts";
import { commitScript, pushScript } from "./git-scripts.ts";
import { cacheByNames } from "./cache-by-names.ts";
import {
  type ScriptOptions,
  describeDifference,
  type Difference,
  folderOf,
  type Proposal,
  propose,
  readDifference,
  runScript,
} from "./proposal.ts";
import { createShownProposals } from "./shown-proposals.ts";

const branchName = /^(?!.*(?:\.\.|\/\/|@\{|\.lock$))[\w./-]{1,200}$/;

/** The same object for the same repositories: describing a schema to the model costs more than the rest of a tool. */
const inputFor = cacheByNames((names) =>
  z.object({
    repository: z.enum(names),
    title: z.string().trim().min(1).max(200).describe("Of the pull request, and of the commit"),
    body: z.string().max(20_000).describe("What was changed and why, for reviewers, in Markdown"),
    branch: z
      .string()
      .regex(branchName)
      .optional()
      .describe(
        "To add to an earlier pull request: its branch. Without it the branch that the folder is on, if open_pull_request has made it, else a new one",
      ),
    base: z
      .string()
      .regex(branchName)
      .optional()
      .describe("The branch that it goes to; without it the usual one"),
    draft: z.boolean().default(false),
  }),
);
type Input = z.infer<ReturnType<typeof inputFor>>;

/** Pushes a repository's folder as a branch of the thread and opens a pull request for it. */
export function createOpenPullRequest(access: RepositoryAccess): Tool {
  const { list, branchPrefix } = access;
  const seen = createShownProposals();
  const find = (name: string) => list.find((each) => each.name === name);
  const look = (
    { title, base, branch }: Input,
    repository: Repository,
    sandbox: Sandbox,
    options: ScriptOptions,
  ) =>
    propose(
      repository,
      {
        ...(base !== undefined && { base }),
        ...(branch !== undefined && { branch }),
        prefix: branchPrefix,
        slug: toSlug(title),
      },
      sandbox,
      options,
    );

  return defineSandboxTool<Input>({
    name: openPullRequestName,
    description:
      "Push everything that is changed in a repository's folder (committed or not, without what .gitignore names) as one " +
      "commit on a branch of this thread, and open a pull request for it. People see the difference and approve it first, " +
      "unless the operator lets it pass. Called again it adds a commit to the same pull request, so it is also how to " +
      "answer a review.",
    input: inputFor(list.map(({ name }) => name)),
    effect: "external",
    timeoutMs: 1_500_000,

    async review(given, { sandbox }, signal): Promise<PolicyDecision> {
      const repository = find(given.repository);
      if (!repository || !sandbox) return { action: "allow" };
      if (given.branch !== undefined && !given.branch.startsWith(branchPrefix)) {
        return { action: "deny", why: `expected a branch that begins with ${branchPrefix}.` };
      }
      if (repository.push === "deny") {
        return { action: "deny", why: `The operator lets nothing be pushed to ${repository.title}.` };
      }
      if (repository.push === "allow") return { action: "allow" };
      const options = { isUncalled: true, signal };
      const found = await look(given, repository, sandbox, options);
      const difference = found.ok ? await readDifference(repository, found, sandbox, options) : found;
      // It says itself what is wrong, or that there is nothing, and pushes nothing that was not shown.
      const isNothing = !found.ok || !difference.ok || !(hasFiles(difference) || isPushed(repository, found));
      if (isNothing) {
        seen.forget(given);
        return { action: "allow" };
      }
      seen.show(given, found.hash);
      if (!hasFiles(difference)) {
        const why = `It opens a ${repository.request} in ${repository.title} for \`${found.base}\`, of \`${found.branch}\` as it is there already.`;
        return { action: "ask", why };
      }
      const request = repository.request ?? "branch";
      const what = found.isNew ? `a new ${request}` : `one more commit on \`${found.branch}\``;
      return {
        action: "ask",
        why: `It pushes to ${repository.title}, as ${what} for \`${found.base}\`: ${describeDifference(difference)}`,
        file: { name: `${repository.name}.diff`, text: difference.patch },
      };
    },

    async pins(given, { sandbox }, signal) {
      const repository = find(given.repository);
      const found =
        repository && sandbox && (await look(given, repository, sandbox, { signal, isUncalled: true }));
      if (found?.ok) return [{ path: given.repository, sha256: seen.pin(given, found.hash) }];
      seen.forget(given);
      return [];
    },

    async run(given, context) {
      const repository = find(given.repository);
      if (!repository) return createFailure(`There is no repository ${given.repository} here.`);
      const { sandbox, signal } = context;
      const found = await look(given, repository, sandbox, { signal });
      if (!found.ok) return createFailure(`Nothing was pushed: ${found.message}.`);
      const difference = await readDifference(repository, found, sandbox, { signal });
      if (!difference.ok) return createFailure(`Nothing was pushed: ${difference.message}.`);
      const isUnchanged = !hasFiles(difference);
      if (isUnchanged && !isPushed(repository, found))
        return createFailure(`Nothing was pushed: ${folderOf(repository)} has no change.`);
      if (repository.push === "ask" && !seen.isPinned(given, found.hash)) {
        return createFailure("Nothing was pushed: the folder changed after it was looked at. Call it again.");
      }
      const push = { repository, found, access };
      if (isUnchanged)
        return await open(given, push, signal, `Nothing is new since ${found.branch} was pushed`);
      return await pushAndOpen(given, push, context);
    },
  });
}

function hasFiles({ files }: Difference): boolean {
  return files.length > 0;
}

/** Whether the branch is at the host already, as it is after its pull request could not be opened. */
function isPushed({ request }: Repository, { isNew }: Proposal): boolean {
  return request !== undefined && !isNew;
}

interface Push {
  repository: Repository;
  found: Proposal;
  access: RepositoryAccess;
}

/** What the model says of it. */
type Words = Pick<Input, "title" | "body" | "draft">;

async function pushAndOpen(
  words: Words,
  push: Push,
  { sandbox, signal }: SandboxToolContext,
): Promise<ToolResult> {
  const { repository, found, access } = push;
  const { branch, tree, parents } = found;
  const folder = folderOf(repository);
  const message = formatCommitMessage(toLine(words.title), requesterOf(access), access.coAuthor(repository));
  const made = await runScript(sandbox, commitScript, [folder, tree, parents, message], { signal });
  const commit = made.ok ? made.text.trim() : "";
  if (!made.ok || !/^[0-9a-f]{40,64}$/.test(commit)) {
    return createFailure(`Nothing was pushed: ${made.ok ? "git made no commit" : made.message}.`);
  }
  const pushed = await access.whilePushing(repository, { branch, commit }, () =>
    runScript(sandbox, pushScript, [folder, repository.address, commit, branch], { signal }),
  );
  if (!pushed.ok) {
    const hint = isOvertaken(pushed.message) ? " Somebody has pushed there meanwhile: call this again." : "";
    return createFailure(`The push did not work: ${pushed.message}.${hint}`);
  }
  const done = `${commit.slice(0, 10)} is pushed as ${branch}`;
  if (!repository.request) {
    return { status: "ok", text: `${done} to ${repository.title}. Heddle opens no pull requests there.` };
  }
  return await open(words, push, signal, done);
}

/** @param done what was done before, as a clause */
async function open(
  { title, body, draft }: Words,
  { repository, found: { branch, base }, access }: Push,
  signal: AbortSignal,
  done: string,
): Promise<ToolResult> {
  const person = requesterOf(access);
  const footer = `Made with Heddle${person ? `, asked for by ${person}` : ""}.`;
  const proposal = { branch, base, title: toLine(title), body: `${body}\n\n---\n${footer}`, draft };
  const opened = await access.openPullRequest(repository, proposal, signal);
  if (!opened.ok) {
    const text = `${done}, but the ${repository.request} was not opened: ${opened.message} Once that is put right, calling this again opens it.`;
    return { status: "partial", text, ...(opened.outage && { outage: true }) };
  }
  const state = opened.isNew ? "is open" : "was open already and has it";
  return {
    status: "ok",
    text: `${done}. The ${repository.request} ${state}: ${opened.url} (number ${opened.number}). Give people the address.`,
  };
}

/** Else a title could say in a commit who has asked, as if Heddle had. */
function toLine(title: string): string {
  return title.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
}

function requesterOf(access: RepositoryAccess): string {
  return plainName(access.requester()?.name ?? "");
}

/** Whether the branch had moved on when git came to it: in the words of git-push(1), which are not translated here. */
function isOvertaken(said: string): boolean {
  return /^.*! \[rejected\].*\((?:fetch first|non-fast-forward)\)/m.test(said);
}

/** A few words as part of a branch's name. */
function toSlug(title: string): string {
  const words = title
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return words.slice(0, 40).replace(/-+$/, "") || "work";
}

/** People choose their names: nothing in one may format, link or notify. */
function plainName(name: string): string {
  return name
    .replaceAll(/[^\p{L}\p{M}\p{N} .'-]/gu, "")
    .trim()
    .slice(0, 80);
}

/** https://docs.github.com/en/pull-requests/committing-changes-to-your-project/creating-and-editing-commits/creating-a-commit-with-multiple-authors */
function formatCommitMessage(title: string, person: string, coAuthor: string | undefined): string {
  const trailers = [
    ...(person ? [`Requested-by: ${person}`] : []),
    ...(coAuthor === undefined ? [] : [`Co-authored-by: ${coAuthor}`]),
  ];
  return trailers.length > 0 ? `${title}\n\n${trailers.join("\n")}` : title;
}
