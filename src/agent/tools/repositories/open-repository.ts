import { z } from "zod";
import { unusableMirror } from "../../../sandbox/sandbox.ts";
import { openRepositoryName, type Repository, type RepositoryAccess } from "../../contracts/repositories.ts";
import { defineSandboxTool, type SandboxToolContext, type Tool } from "../tool.ts";
import { cacheByNames } from "./cache-by-names.ts";
import { cloneScript, unpackScript } from "./git-scripts.ts";
import { folderOf, runScript } from "./proposal.ts";

const setupMs = 600_000;
/** Of the set-up's output, at its end, in characters. */
const shownOutput = 2_000;

/** The same object for the same repositories: describing a schema to the model costs more than the rest of a tool. */
const inputFor = cacheByNames((names, told) =>
  z.object({ repository: z.enum(names).describe(told.join("; ")) }),
);

/** Brings a repository into the workspace. */
export function createOpenRepository({ list }: RepositoryAccess): Tool {
  const names = list.map(({ name }) => name);
  return defineSandboxTool<z.infer<ReturnType<typeof inputFor>>>({
    name: openRepositoryName,
    description:
      `Clone one of this channel's repositories into the workspace (${names.join(", ")}), signed in, or fetch what is new ` +
      "where it is there already. Use it before you work on a repository; then work with the other tools. Commit as you " +
      "like; git cannot push from here, open_pull_request does.",
    input: inputFor(names, list.map(describe)),
    effect: "write",
    timeoutMs: 4 * setupMs,
    async run({ repository: name }, context) {
      const repository = list.find((each) => each.name === name);
      if (!repository) return { status: "error", text: `There is no repository ${name} here.` };
      const folder = folderOf(repository);
      const run = await clone(repository, context);
      if (!run.ok) return { status: "error", text: `${repository.title} was not opened: ${run.message}.` };
      const [how, id = "", content = "", branch = "", commit = "", agents = ""] = run.text.split("\n");
      const text = [
        how === "cloned"
          ? `${repository.title} is in ${folder}, on ${branch} at ${commit}.`
          : `${repository.title} was in ${folder} already, on ${branch} at ${commit}; what is new was fetched (origin/…).`,
        ...(agents ? [`Its ${agents} is shown to you as soon as you work in the folder.`] : []),
      ];
      if (how === "cloned" && repository.setup !== undefined) {
        text.push(await setUp(repository, { commit: id, content }, context));
      }
      return { status: "ok", text: text.join("\n") };
    },
  });
}

/** From the mirror where there is one, or fetches what is new. */
async function clone(repository: Repository, { sandbox, signal }: SandboxToolContext) {
  const { address, branch = "", setupFiles = [] } = repository;
  const folder = folderOf(repository);
  const parameters = [address, folder, branch, ...setupFiles];
  const isThere = (await sandbox.readFile(`${folder}/.git/HEAD`, { maxBytes: 1, signal })).ok;
  const mirrored = isThere ? {} : { repository: address };
  const run = await runScript(sandbox, cloneScript, parameters, { signal, ...mirrored });
  if (run.ok || run.exitCode !== unusableMirror) return run;
  return await runScript(sandbox, cloneScript, parameters, { signal });
}

function describe({ name, title, branch }: Repository): string {
  return `${name}: ${title}${branch ? ` (${branch})` : ""}`;
}

/** Unpacks what it has made for others who have cloned the same, or runs it here. */
async function setUp(
  repository: Repository,
  setUpOf: { commit: string; content: string },
  context: SandboxToolContext,
): Promise<string> {
  const { address, setup = "" } = repository;
  const { sandbox, signal } = context;
  const unpacked = await runScript(sandbox, unpackScript, [], { signal, repository: address, setUpOf });
  return unpacked.ok
    ? `What its set-up makes is there, made in a sandbox of its own: ${setup}`
    : await runSetup(repository, setup, context);
}

/** Its failure is told, and what it said is kept: the work may go on without it. */
async function runSetup(
  repository: Repository,
  command: string,
  { sandbox, signal, output }: SandboxToolContext,
): Promise<string> {
  const result = await sandbox.exec({
    ...{ command, cwd: folderOf(repository), signal },
    timeoutMs: setupMs,
    onOutput: (chunk) => output(chunk.toString()),
  });
  if (result.end === "exit" && result.exitCode === 0) return `Its set-up has run: ${command}`;
  const how = result.end === "exit" ? `exit code ${result.exitCode}` : (result.problem ?? result.end);
  const all = Buffer.concat([result.stdout, result.stderr]);
  const file = `${folderOf(repository)}-setup.log`;
  const kept = await sandbox.writeFile(file, all, { signal });
  const where = kept.ok ? ` All that it said is in ${file}.` : "";
  const said = all.toString().trim().slice(-shownOutput);
  return `⚠️ Its set-up did not work (${how}); go on without it, or see whether you can.${where} It was: ${command}\n${said}`;
}
