import { createHash, createHmac, randomBytes } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hasErrorCode } from "../../sandbox/system-error.ts";

/** Proves that an entry was written by somebody who has the key, which write access to Redis does not give. */
export interface AuditKey {
  /** Tells keys apart, and nothing about the key. */
  id: string;
  /** HMAC-SHA256, in hex. */
  sign(text: string): string;
}

export function createAuditKey(secret: string): AuditKey {
  const id = createHash("sha256").update(`heddle audit key ${secret}`).digest("hex").slice(0, 12);
  return { id, sign: (text) => createHmac("sha256", secret).update(text).digest("hex") };
}

const fileName = "audit.key";

/** The key that this host has: HEDDLE_AUDIT_KEY, or the file in the data folder; undefined where there is neither. */
export async function readAuditKey(
  dataDir: string,
  fromEnvironment: string | undefined,
): Promise<AuditKey | undefined> {
  if (fromEnvironment !== undefined) return createAuditKey(fromEnvironment);
  try {
    const secret = (await readFile(join(dataDir, fileName), "utf8")).trim();
    if (!/^[0-9a-f]{64}$/.test(secret)) throw new Error(`${join(dataDir, fileName)} holds no audit key.`);
    return createAuditKey(secret);
  } catch (error) {
    if (hasErrorCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** The same; makes the file where there is neither. Of several processes that do so at once, all get one key. */
export async function openAuditKey(dataDir: string, fromEnvironment: string | undefined): Promise<AuditKey> {
  const there = await readAuditKey(dataDir, fromEnvironment);
  if (there) return there;
  await mkdir(dataDir, { recursive: true, mode: 0o711 });
  const part = join(dataDir, `${fileName}.${process.pid}.${randomBytes(4).toString("hex")}`);
  const secret = randomBytes(32).toString("hex");
  try {
    await writeFile(part, `${secret}\n`, { mode: 0o600, flag: "wx", flush: true });
    // Unlike a rename it fails where another process was faster.
    await link(part, join(dataDir, fileName));
    return createAuditKey(secret);
  } catch (error) {
    const other = hasErrorCode(error, "EEXIST") ? await readAuditKey(dataDir, undefined) : undefined;
    if (!other) throw error;
    return other;
  } finally {
    await rm(part, { force: true });
  }
}
