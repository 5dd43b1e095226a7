import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * A small piece of work in a repository, as a person would ask for it. Each is a folder of `eval/tasks`:
 *
 * - `task.md`: a heading, and below it what the person writes
 * - `workspace/`: the files that are there; `prepare.sh` does the rest, such as commits
 * - `check.sh`: run in the workspace afterwards, exits with 0 when the work is done; `check/` is beside it as `.check/`
 * - `solution/`, `solution.sh`: files and commands that do the work, to show that the check can be passed
 */
export interface EvalTask {
  id: string;
  title: string;
  ask: string;
  workspace: TaskFile[];
  prepare: string;
  check: string;
  checkFiles: TaskFile[];
  solution: { files: TaskFile[]; command: string };
}

export interface TaskFile {
  /** Relative to the workspace. */
  path: string;
  data: Buffer;
}

const folder = join(import.meta.dirname, "tasks");

/** All tasks, by name. */
export async function readTasks(): Promise<EvalTask[]> {
  const ids = await readdir(folder);
  return Promise.all(ids.toSorted().map(readTask));
}

async function readTask(id: string): Promise<EvalTask> {
  const at = (name: string) => join(folder, id, name);
  const [first = "", ...others] = (await readFile(at("task.md"), "utf8")).split("\n");
  return {
    id,
    title: first.replace(/^# /, ""),
    ask: others.join("\n").trim(),
    workspace: await readFiles(at("workspace")),
    prepare: await readScript(at("prepare.sh")),
    check: await readFile(at("check.sh"), "utf8"),
    checkFiles: await readFiles(at("check")),
    solution: { files: await readFiles(at("solution")), command: await readScript(at("solution.sh")) },
  };
}

/** Files of a folder, none where there is no folder. */
async function readFiles(root: string): Promise<TaskFile[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(ifMissing([]));
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
  return Promise.all(paths.map(async (path) => ({ path, data: await readFile(join(root, path)) })));
}

function readScript(path: string): Promise<string> {
  return readFile(path, "utf8").catch(ifMissing(""));
}

function ifMissing<T>(value: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === "ENOENT") return value;
    throw error;
  };
}
