import type { Transform } from "node:stream";
import type { Refusal } from "./refusal.ts";

/** Stands in the way of bytes until they may pass. */
export interface Meter {
  /** For one direction. */
  pass(): Transform;
  /** Takes bytes that do not come by. Resolves with why they may not. */
  take(bytes: number): Promise<Refusal | undefined>;
}
