import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Skill } from "../../agent/skills/library.ts";
import { searchPath } from "../../sandbox/bubblewrap/node.ts";

type Scripts = Pick<Skill, "name" | "folder" | "resources">;

/** Prints those of its arguments that are no module. It finds the top level only, so that nothing is run. */
const probe = `
import sys
from importlib.util import find_spec
print(*[name for name in sys.argv[1:] if find_spec(name) is None])`;

/**
 * The Python modules that scripts of these skills import and sandboxes lack, each with the names of the skills. None
 * where there is no Python. It is asked of this host: sandboxes have its /usr, and `-I` looks nowhere else.
 */
export async function findMissingModules(
  skills: readonly Scripts[],
  signal: AbortSignal,
): Promise<Map<string, string[]>> {
  const users = new Map<string, string[]>();
  for (const skill of skills)
    for (const name of await listImports(skill)) users.set(name, [...(users.get(name) ?? []), skill.name]);
  const names = [...users.keys()].toSorted();
  if (names.length === 0) return new Map();
  const options = { env: { PATH: searchPath }, signal };
  const asked = promisify(execFile)("python3", ["-I", "-c", probe, ...names], options);
  const { stdout } = await asked.catch(() => ({ stdout: "" }));
  const missing = new Set(stdout.split(/\s+/));
  return new Map([...users].filter(([name]) => missing.has(name)));
}

/** An import that is indented may be left out: it stands within a `try`, or in a function for one case of many. */
const statements =
  /^(?:from ([A-Za-z]\w*)(?:\.\w+)* import\b|import ([A-Za-z][\w., \t]*?)[ \t]*(?:[#;].*)?\r?$)/gm;

/** Modules that its scripts cannot start without, but for those that it brings along. */
async function listImports({ folder, resources }: Scripts): Promise<Set<string>> {
  const own = new Set(resources.flatMap((path) => path.replace(/\.py$/, "").split("/")));
  const scripts = resources.filter((path) => path.endsWith(".py"));
  const texts = await Promise.all(
    scripts.map((path) => readFile(join(folder, path), "utf8").catch(() => "")),
  );
  const names = texts.flatMap((text) =>
    [...text.matchAll(statements)].flatMap(([, from, list = ""]) => from ?? readList(list)),
  );
  return new Set(names.filter((name) => !own.has(name)));
}

/** Of `a.b as c, d`: a and d. */
function readList(list: string): string[] {
  return list.split(",").flatMap((part) => /^\s*(\w+)(?:\.\w+)*(?:\s+as\s+\w+)?\s*$/.exec(part)?.[1] ?? []);
}
