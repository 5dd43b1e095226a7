import { join, posix } from "node:path";
import { openShownMirror, type ShownMirrorDeps } from "../mirrors/show-mirror.ts";
import {
  type Claim,
  type ExecRequest,
  type ExecResult,
  ownFolderVariable,
  type Sandbox,
  workspaceRoot,
} from "../sandbox.ts";
import type { Host, ThreadFolder } from "./host.ts";
import { collectOutput } from "./output.ts";
import type { ProgramRunner } from "./program-runner.ts";
import { shellCommand } from "./shell.ts";
import type { Ending } from "./spawner.ts";

/** A command may produce this many times what is kept before it is killed. */
export const floodFactor = 16;
/** MAX_ARG_STRLEN of Linux: the longest single argument in bytes, with its NUL, is 128 KiB. */
const longestCommandBytes = 128 * 1024 - 1;
const shownCharacters = 120;

/** What must be done before a command. */
export interface Preparation {
  opensNetwork: boolean;
  mayWrite: boolean;
  /** What is on its way already. */
  alongside?: Promise<unknown> | undefined;
}

/** Runs commands of somebody who works on this claim, each to its end. */
export function createExec({
  deps,
  threadId,
  folder,
  programs,
  claim,
  prepare,
}: {
  deps: ShownMirrorDeps & { host: Host };
  threadId: string;
  folder: ThreadFolder;
  programs: ProgramRunner;
  claim: Claim | undefined;
  /** Undefined when there is nothing to wait for; an ending when the command must not start any more. */
  prepare(preparation: Preparation): Promise<Ending | undefined> | undefined;
}): Sandbox["exec"] {
  const { limits } = deps.host;

  function showMirror({ repository: address, setUpOf, signal }: ExecRequest) {
    if (address === undefined) return undefined;
    return openShownMirror(deps, { threadId, address, signal, ...(setUpOf && { setUpOf }) });
  }

  async function run(request: ExecRequest, output: ReturnType<typeof collectOutput>): Promise<Ending> {
    const { isReadOnly = false, isUncalled = false } = request;
    const showing = showMirror(request);
    const preparation = prepare({
      opensNetwork: programs.hasEgress && !isReadOnly,
      mayWrite: !isReadOnly && !isUncalled,
      alongside: showing,
    });
    const stopped = preparation && (await preparation);
    if (stopped) return stopped;
    const mirror = showing && (await showing);
    if (!mirror) return await start(request, output, []);
    const before = programs.kills();
    const given = await mirror.giveReady({ folder, hasRoom: programs.hasRoom });
    // One that is ready has its files.
    const finish = given ? undefined : mirror.begin();
    try {
      const ending: Ending =
        programs.kills() === before
          ? await start(request, output, [...mirror.view, ...(given?.view ?? [])])
          : { end: "stopped", exitCode: null };
      await given?.end();
      await mirror.ended(ending.exitCode);
      return ending;
    } finally {
      finish?.();
    }
  }

  function start(
    request: ExecRequest,
    output: ReturnType<typeof collectOutput>,
    view: readonly string[],
  ): Promise<Ending> {
    const { isReadOnly = false, isUncalled = false, hasOwnFolder = false, signal, environment } = request;
    return programs.start(
      {
        program: shellCommand(request.command),
        cwd: insideFolder(request.cwd),
        ...(environment && { environment }),
        timeoutMs: Math.min(request.timeoutMs ?? limits.commandMs, limits.longestCommandMs),
        floodBytes: keptBytesOf(request) * floodFactor,
        signal,
        onOutput(stream, chunk) {
          output.take(stream, chunk);
          request.onOutput?.(chunk);
        },
        view: [
          ...(isReadOnly ? ["--ro-bind", join(folder.path, "ws"), workspaceRoot] : []),
          ...(hasOwnFolder ? viewOwn(folder) : []),
          ...view,
        ],
        isAlone: isReadOnly,
      },
      isUncalled
        ? { kind: "files", claim, text: "" }
        : { kind: "command", claim, text: shorten(request.command) },
    ).ended;
  }

  const keptBytesOf = (request: ExecRequest) => request.maxOutputBytes ?? limits.outputBytes;

  return async (request): Promise<ExecResult> => {
    const startedAt = performance.now();
    const output = collectOutput(keptBytesOf(request));
    const { end, exitCode, problem } = refusalOf(request) ?? (await run(request, output));
    const durationMs = performance.now() - startedAt;
    return { end, exitCode, ...output.result(), durationMs, ...(problem !== undefined && { problem }) };
  };
}

/** Where files are staged: only the sandbox's own scripts have ever seen it, and what is left there is swept. */
function viewOwn({ path }: ThreadFolder): string[] {
  return ["--bind", join(path, "new"), "/own", "--setenv", ownFolderVariable, "/own"];
}

/** What is told of a command: enough to know it by. */
export function shorten(command: string): string {
  const [line = ""] = command.trim().split("\n");
  return line.length > shownCharacters ? `${line.slice(0, shownCharacters - 1)}…` : line;
}

export function insideFolder(cwd: string | undefined): string {
  return posix.resolve(workspaceRoot, cwd ?? ".");
}

/** Why a command is not even started. */
export function refusalOf(request: { command: string; cwd?: string }): Ending | undefined {
  if (Buffer.byteLength(request.command) > longestCommandBytes) {
    const problem =
      "The command is longer than 128 KiB, the limit of Linux; write it to a file and run that.";
    return { end: "failed", exitCode: null, problem };
  }
  if (`${request.command}${request.cwd}`.includes("\0")) {
    const problem = "The command or its folder contains a NUL character, which no command line can hold.";
    return { end: "failed", exitCode: null, problem };
  }
  return undefined;
}
