import * as diagnostics from "node:diagnostics_channel";
import type { Intake } from "./inbound.ts";

/** A connection to one platform that brings events in. Its surface works without it, in any process. */
export interface ChatAdapter {
  readonly platform: string;
  /** Resolves when events can arrive; throws an error that names the wrong token or setting and the fix. */
  start(intake: Intake): Promise<void>;
  /** Stops taking events; those in hand are finished first. */
  stop(): Promise<void>;
}

/** A connection to a platform has ended and is made anew. Adapters publish it on {@link reconnects}. */
export interface Reconnect {
  platform: string;
}

/** For whoever counts them in this process. */
export const reconnects = diagnostics.channel("heddle:reconnects");

/** What a check of an installation found. `warning` and `error` say what to do; `note` is what no check can see. */
export interface Finding {
  level: "ok" | "note" | "warning" | "error";
  /** One line. */
  text: string;
}
