import { randomBytes } from "node:crypto";
import { chmod, link, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { explainUnreadable, explainUnusableFolder } from "../agent/file-problems.ts";
import { ConfigError } from "./config-error.ts";

/** A secret that Heddle makes for itself: 64 hexadecimal digits in a file of the data folder that only its owner reads. */

/** Undefined where there is no such file. @throws ConfigError where it cannot be read or holds something else */
export async function readSecretFile(dataDir: string, name: string): Promise<string | undefined> {
  const path = join(dataDir, name);
  try {
    const secret = (await readFile(path, "utf8")).trim();
    if (!/^[0-9a-f]{64}$/.test(secret)) {
      throw new ConfigError(`${path} holds no secret of Heddle's: restore it, or delete it for a new one.`);
    }
    // A backup or a copy may have opened it to others.
    if (((await stat(path)).mode & 0o077) !== 0) await chmod(path, 0o600);
    return secret;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    // A data folder that is none is told by whoever makes the file.
    const why = hasCode(error, "ENOTDIR") ? undefined : explainUnreadable(path, error);
    if (why === undefined) return undefined;
    throw new ConfigError(why);
  }
}

/**
 * The same; makes the file where there is none. Of several processes that do so at once, all get one secret.
 * @throws ConfigError where the data folder takes no file, too
 */
export async function openSecretFile(dataDir: string, name: string): Promise<string> {
  const there = await readSecretFile(dataDir, name);
  if (there !== undefined) return there;
  const part = join(dataDir, `${name}.${process.pid}.${randomBytes(4).toString("hex")}`);
  const secret = randomBytes(32).toString("hex");
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o711 });
    await writeFile(part, `${secret}\n`, { mode: 0o600, flag: "wx", flush: true });
    // Unlike a rename it fails where another process was faster.
    await link(part, join(dataDir, name));
    return secret;
  } catch (error) {
    const other = hasCode(error, "EEXIST") ? await readSecretFile(dataDir, name) : undefined;
    if (other !== undefined) return other;
    throw new ConfigError(explainUnusableFolder(dataDir, error));
  } finally {
    await rm(part, { force: true }).catch(() => undefined);
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
