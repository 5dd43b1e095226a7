import { createHash, createHmac } from "node:crypto";
import { openSecretFile, readSecretFile } from "../../config/secret-file.ts";

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
  const secret = fromEnvironment ?? (await readSecretFile(dataDir, fileName));
  return secret === undefined ? undefined : createAuditKey(secret);
}

/** The same; makes the file where there is neither. Of several processes that do so at once, all get one key. */
export async function openAuditKey(dataDir: string, fromEnvironment: string | undefined): Promise<AuditKey> {
  return createAuditKey(fromEnvironment ?? (await openSecretFile(dataDir, fileName)));
}
