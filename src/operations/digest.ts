import { createHash } from "node:crypto";

/** The SHA-256 of a text: 64 of `0-9 a-f`. */
export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
