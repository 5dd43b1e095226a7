import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

/** Seals texts that are stored where others may read and write. */
export interface SealedBox {
  /** @param owner whose it is: a text that was sealed for somebody else does not open */
  seal(text: string, owner: string): string;
  /** @throws Error where it was sealed with another secret, for another owner, or was changed */
  open(sealed: string, owner: string): string;
}

/**
 * A box with AES-256-GCM. Somebody who can read Redis but not our environment learns nothing, and cannot pass one
 * owner's text off as another's.
 *
 * @param purpose tells the keys apart that are derived from one secret
 */
export function createSealedBox(secret: string, purpose: string): SealedBox {
  const key = new Uint8Array(hkdfSync("sha256", secret, "", purpose, 32));
  return {
    seal(text, owner) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(owner));
      const sealed = [cipher.update(text, "utf8"), cipher.final()];
      return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed]).toString("base64");
    },
    open(sealed, owner) {
      const bytes = Buffer.from(sealed, "base64");
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12))
        .setAAD(Buffer.from(owner))
        .setAuthTag(bytes.subarray(12, 28));
      return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString("utf8");
    },
  };
}
