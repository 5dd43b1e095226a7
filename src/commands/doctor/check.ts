import type { CommandContext } from "../../app/command-context.ts";
import type { Finding } from "../../chat/adapter.ts";

/** Looks at one part of the installation. What it throws becomes an error line; it should end soon after the signal. */
export type Check = (setup: CommandContext, signal: AbortSignal) => Promise<Finding[]>;

/** Less than the limit of a check, so that the line says what did not answer. */
export const patienceMs = 8_000;
/** A Redis that somebody asks about is there; only at the start it may still be coming up. */
export const redisPatienceMs = 4_000;
