import type { Sandbox } from "../../sandbox/sandbox.ts";

/** What came with the messages of a turn, by path: the SHA-256 of each file as it came, in hexadecimal. */
export type AttachedFiles = Map<string, string>;

/** The same sandbox, which notes what is written through it in `files`. */
export function noteAttached(sandbox: Sandbox, files: AttachedFiles): Sandbox {
  return {
    ...sandbox,
    async writeFile(path, data, options) {
      const written = await sandbox.writeFile(path, data, options);
      if (written.ok) files.set(path, written.sha256);
      return written;
    },
  };
}

/** Without those that are still as people have sent them: a turn's receipt names what the turn has written. */
export async function leaveOutAttached(
  sandbox: Pick<Sandbox, "readFile">,
  files: AttachedFiles | undefined,
  paths: readonly string[],
): Promise<string[]> {
  const kept = await Promise.all(
    paths.map(async (path) => {
      const sha256 = files?.get(path);
      if (sha256 === undefined) return [path];
      const found = await sandbox.readFile(path);
      if (!found.ok) return [path];
      return found.sha256 === sha256 ? [] : [path];
    }),
  );
  return kept.flat();
}
