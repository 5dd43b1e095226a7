import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { type Claim, compareClaims } from "../sandbox.ts";
import { monotonicMs } from "../monotonic.ts";
import { parseJson } from "../parse-json.ts";
import { hasErrorCode } from "../system-error.ts";
import { isAlive, type ProcessIdentity } from "../thread/processes.ts";
import { readHostIdentity } from "./host-identity.ts";

/**
 * What runs for each thread, in files beside the workspaces, so that another worker can see and end it: one folder a
 * thread, and in it one file for each program that was started, and for the newest claim of the thread's session.
 *
 * No lock is held: a process that stands still would hold it for ever. Whoever starts something notes it first and then
 * looks for a newer claim; whoever takes over notes its claim first and then looks for what runs. So one of them sees the
 * other, wherever either of them stops.
 */
export interface RunningRegistry {
  /** Names what can be seen from here: who has the same sees the same processes. Undefined where there is no /proc. */
  readonly place: string | undefined;
  /** The name of the back end that it belongs to. */
  readonly backend: string;
  /**
   * Notes a program that is about to start. Undefined, and nothing is noted, where a newer claim has been made: it must
   * not start then.
   */
  enter(thread: string, program: StartingProgram): RunningEntry | undefined;
  /** From here on, nothing starts any more on an older claim. */
  markClaim(thread: string, claim: Claim): void;
  list(thread: string): RunningProgram[];
  remove(thread: string, name: string): void;
  /** Removes what processes of this host have left that are no more, and folders in which nothing is noted. */
  sweep(): void;
}

export interface RunningEntry {
  /** Notes the first process of its PID namespace. */
  began(init: ProcessIdentity): void;
  /** To be called when no process of it is alive. */
  ended(): void;
}

/**
 * `command` and `files` belong to a turn; `job` and `network` outlive it; `service` belongs to no thread; `upkeep` is what
 * the sandbox does for itself.
 */
export type ProgramKind = z.infer<typeof programKind>;

const programKind = z.enum(["command", "files", "job", "network", "service", "upkeep"]);

/** For whom a program runs. */
export interface ProgramOrigin {
  kind: ProgramKind;
  /** Absent where no turn has asked for it. */
  claim?: Claim | undefined;
  /** What people may be told of it; short. */
  text: string;
}

export interface StartingProgram extends ProgramOrigin {
  /** Which kills all others when it is killed, or that of which they are the children. */
  outer: ProcessIdentity;
}

export interface RunningProgram extends StartingProgram {
  /** The name of its file. */
  name: string;
  /** Whether its processes can be seen from here. */
  isHere: boolean;
  /** The back end, and so the process, that has started it. */
  backend: string;
  /** What has started it. */
  by: ProcessIdentity;
  init?: ProcessIdentity | undefined;
}

const identity = z.object({ pid: z.int(), startTime: z.number() });
const claimSchema = z.object({ created: z.number(), epoch: z.int() });
const startSchema = z.object({
  host: z.string(),
  backend: z.string(),
  by: identity,
  kind: programKind,
  claim: claimSchema.optional(),
  text: z.string(),
  outer: identity,
});

/**
 * A claim counts for so long. Longer than any process can stand still and then start something by itself: past its
 * deadline it starts nothing. Not for ever, because a Redis that was restored from a copy may have another clock.
 */
const claimLastsMs = 3_600_000;
/** What was noted elsewhere, and by nobody removed, is older than whatever may run. */
const forgottenMs = 40 * 86_400_000;

/**
 * @param folder made if need be
 * @param options.backend a name that no other back end has
 * @param options.by the process that starts programs
 */
export function openRunningRegistry(
  folder: string,
  options: { backend: string; by: ProcessIdentity },
): RunningRegistry {
  const host = readHostIdentity();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (host === undefined) return { ...nothingNoted, backend: options.backend };
  const { dev, ino } = statSync(folder);
  const folderOf = (thread: string) => join(folder, thread);

  function newestClaim(thread: string): Claim | undefined {
    return listNames(folderOf(thread))
      .flatMap((name) => readMark(name) ?? [])
      .filter(({ at }) => isCurrent(at))
      .map(({ claim }) => claim)
      .toSorted(compareClaims)
      .at(-1);
  }

  function remove(thread: string, name: string): void {
    rmSync(join(folderOf(thread), name), { force: true });
  }

  const sweepThread = (thread: string): void => {
    for (const name of listNames(folderOf(thread))) {
      const mark = readMark(name);
      if (mark ? !isCurrent(mark.at) : isLeft(join(folderOf(thread), name), name, host)) remove(thread, name);
    }
    removeEmpty(folderOf(thread));
  };

  return {
    backend: options.backend,
    place: createHash("sha256").update(`${host} ${dev} ${ino}`).digest("hex").slice(0, 12),
    enter(thread, program) {
      const name = `${runPrefix}${randomBytes(8).toString("hex")}`;
      const path = join(folderOf(thread), name);
      const { claim, ...rest } = program;
      const noted = { host, ...options, ...rest, ...(claim && { claim }) };
      try {
        writeInto(path, `${JSON.stringify(noted)}\n`);
      } catch (error) {
        remove(thread, name);
        throw error;
      }
      const newest = claim && newestClaim(thread);
      if (newest && compareClaims(claim, newest) < 0) {
        remove(thread, name);
        return undefined;
      }
      return {
        began({ pid, startTime }) {
          try {
            // A line more, so that the first one can be read at any time.
            appendTo(path, `${JSON.stringify({ pid, startTime })}\n`);
          } catch {
            // On a full disk, or one that is gone. The first line names the process that takes this one with it.
          }
        },
        ended: () => remove(thread, name),
      };
    },
    markClaim(thread, claim) {
      const own = nameMark(claim);
      writeInto(join(folderOf(thread), own), "");
      for (const name of listNames(folderOf(thread))) {
        const mark = name === own ? undefined : readMark(name);
        if (mark && (!isCurrent(mark.at) || compareClaims(mark.claim, claim) <= 0)) remove(thread, name);
      }
    },
    list: (thread) =>
      listNames(folderOf(thread)).flatMap(
        (name) => readEntry(join(folderOf(thread), name), name, host) ?? [],
      ),
    remove,
    sweep() {
      for (const thread of listNames(folder)) {
        try {
          sweepThread(thread);
        } catch (error) {
          // A folder of another user, such as of a `heddle doctor` of root, is closed to this one, and costs one thread.
          if (!hasErrorCode(error, "EACCES", "EPERM")) throw error;
        }
      }
    },
  };
}

const nothingNoted: Omit<RunningRegistry, "backend"> = {
  place: undefined,
  enter: () => ({ began() {}, ended() {} }),
  markClaim() {},
  list: () => [],
  remove() {},
  sweep() {},
};

const runPrefix = "run-";
const claimPattern = /^claim-(\d+)-(\d+)-(\d+)$/;

/** With the time at which it was made, by the clock of this host since it was started. */
function nameMark({ created, epoch }: Claim): string {
  return `claim-${created}-${epoch}-${Math.floor(monotonicMs())}`;
}

function readMark(name: string): { claim: Claim; at: number } | undefined {
  const [, created, epoch, at] = claimPattern.exec(name) ?? [];
  if (at === undefined) return undefined;
  return { claim: { created: Number(created), epoch: Number(epoch) }, at: Number(at) };
}

/** One from the future is of a host that was started earlier than this one. */
function isCurrent(markedAt: number): boolean {
  const age = monotonicMs() - markedAt;
  return age >= 0 && age < claimLastsMs;
}

function readEntry(path: string, name: string, host: string): RunningProgram | undefined {
  if (!name.startsWith(runPrefix)) return undefined;
  const [first = "", second = ""] = readIfThere(path).split("\n");
  // Half a line is of a program that has not started, and will not: see the comment at the top.
  const noted = startSchema.safeParse(parseJson(first));
  if (!noted.success) return undefined;
  const { host: where, ...program } = noted.data;
  const init = identity.safeParse(parseJson(second)).data;
  return { ...program, name, isHere: where === host, ...(init && { init }) };
}

/** Whether nobody will remove this one, and it says nothing any more. */
function isLeft(path: string, name: string, host: string): boolean {
  const entry = readEntry(path, name, host);
  if (entry?.isHere) {
    return ![entry.by, entry.outer, ...(entry.init ? [entry.init] : [])].some(isAlive);
  }
  return Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > forgottenMs;
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (hasErrorCode(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}

/** The folder is there nearly always. */
function writeInto(path: string, text: string): void {
  try {
    writeFileSync(path, text, { mode: 0o600 });
  } catch (error) {
    if (!hasErrorCode(error, "ENOENT")) throw error;
    mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
    writeFileSync(path, text, { mode: 0o600 });
  }
}

/** What was removed in the meantime stays removed. */
function appendTo(path: string, text: string): void {
  const file = openSync(path, constants.O_WRONLY | constants.O_APPEND);
  try {
    writeSync(file, text);
  } finally {
    closeSync(file);
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (hasErrorCode(error, "ENOENT")) return "";
    throw error;
  }
}

function removeEmpty(folder: string): void {
  try {
    rmSync(folder, { recursive: false });
  } catch {
    // Something is noted there.
  }
}
