import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Test files by how directly they reach a source file. */
export interface MappedTests {
  /** Those that nothing else is as close to it. */
  near: string[];
  far: string[];
}

/**
 * Finds the tests of a source file: those under the folder of `tests/` that mirrors its own in `src/`, which import it,
 * directly or through other files. A Lua script is reached by the files that load it, and by the scripts that include it.
 *
 * @param files every file of the repository, with `/`
 */
export function createTestMap(root: string, files: readonly string[]): (source: string) => MappedTests {
  const code = files.filter((file) => file.endsWith(".ts") && /^(src|tests)\//.test(file));
  const importers = new Map<string, string[]>();
  const add = (imported: string, by: string) =>
    importers.set(imported, [...(importers.get(imported) ?? []), by]);
  const scripts = new Map(
    files.filter((file) => file.endsWith(".lua")).map((file) => [basename(file, ".lua"), file]),
  );
  for (const file of scripts.values()) {
    const text = readFileSync(join(root, file), "utf8");
    for (const [, name = ""] of text.matchAll(/^-- @include ([\w-]+)$/gm)) {
      const included = scripts.get(name);
      if (included) add(included, file);
    }
  }
  for (const file of code) {
    const text = readFileSync(join(root, file), "utf8");
    for (const [, path = ""] of text.matchAll(/^(?:import|export) (?!type )[^;]*?"(\.[^"]+)";$/gms))
      add(join(dirname(file), path), file);
    for (const [, path = ""] of text.matchAll(/\bimport\("(\.[^"]+)"\)/g))
      add(join(dirname(file), path), file);
    for (const [, path = ""] of text.matchAll(/\bnew URL\("([^"]+\.lua)", import\.meta\.url\)/g))
      add(join(dirname(file), path), file);
  }

  return (source) => {
    const [, folder = ""] = source.split("/");
    const isMirrored = folder.includes(".")
      ? (test: string) => /^tests\/[^/]+$/.test(test)
      : (test: string) => test.startsWith(`tests/${folder}/`);
    const near: string[] = [];
    const far: string[] = [];
    const seen = new Set([source]);
    for (let ring = [source]; ring.length > 0; ) {
      const next = ring.flatMap((file) => importers.get(file) ?? []).filter((file) => !seen.has(file));
      ring = [...new Set(next)];
      for (const file of ring) seen.add(file);
      const tests = ring.filter((file) => file.endsWith(".test.ts") && isMirrored(file));
      (near.length === 0 ? near : far).push(...tests);
    }
    return { near, far };
  };
}
