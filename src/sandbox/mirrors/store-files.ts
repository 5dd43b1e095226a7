import { chmod, chown, lstat, readdir, readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";

/** Nothing where there is no such folder. */
export async function list(folder: string): Promise<string[]> {
  return await readdir(folder).catch(() => []);
}

/** When a file was last written, ms; before all times where there is none. */
export async function timeOf(path: string): Promise<number> {
  return await stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => Number.NEGATIVE_INFINITY,
  );
}

/** Bytes of the files that lie in these folders, not of those below. */
export async function sumSizes(folders: readonly string[]): Promise<number> {
  const sizes = folders.map(async (folder) => {
    const names = await list(folder);
    return await Promise.all(
      names.map(async (name) => {
        const status = await lstat(join(folder, name)).catch(() => undefined);
        return status?.isFile() ? status.size : 0;
      }),
    );
  });
  return (await Promise.all(sizes)).flat().reduce((sum, size) => sum + size, 0);
}

/** Of nobody else's: a link could lead anywhere, and another name could still be written by. */
export async function isPlainFile(path: string): Promise<boolean> {
  const status = await lstat(path).catch(() => undefined);
  return status !== undefined && status.isFile() && status.nlink === 1;
}

export async function hasSameContent(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([lstat(one), lstat(other)]);
  if (a.size !== b.size) return false;
  const [first, second] = await Promise.all([readFile(one), readFile(other)]);
  return first.equals(second);
}

/** From here on it is the bot's own, and for everybody to read. */
export async function takeOver(from: string, to: string): Promise<void> {
  if (process.getuid?.() === 0) await chown(from, 0, 0);
  await chmod(from, 0o444);
  await rename(from, to);
}
