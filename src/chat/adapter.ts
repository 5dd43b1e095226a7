import * as diagnostics from "node:diagnostics_channel";
import type { Intake } from "./inbound.ts";

/**
 * A connection to one platform that brings events in. Writing is the business of the platform's `ChatSurface`,
 * which works without an adapter, in any process.
 *
 * An adapter turns what the platform delivers into inbound events, decides nothing about permissions, and acknowledges
 * an event only after {@link Intake.receive} has resolved. After a reconnect it hands in what it missed.
 *
 * @example
 * const adapter = createSlackAdapter(options);
 * await adapter.start(intake); // rejects with e.g. "SLACK_APP_TOKEN is not set: make an app-level token …"
 * process.once("SIGTERM", () => void adapter.stop());
 */
export interface ChatAdapter {
  readonly platform: string;
  /**
   * Resolves once events can arrive; rejects with {@link PlatformRefused}, which names the wrong token or setting and
   * the fix, or with {@link PlatformUnreachable}: then it may be started again.
   */
  start(intake: Intake): Promise<void>;
  /** Takes no more events; resolves when those being handled are done. */
  stop(): Promise<void>;
  /** Why it hears nothing until an operator acts, in one sentence; undefined while it hears, or will again by itself. */
  problem?(): string | undefined;
}

/**
 * A platform was not reached, by what is known for no fault of the settings: trying again makes sense. The message is a
 * sentence for the operator.
 */
export class PlatformUnreachable extends Error {
  override readonly name = "PlatformUnreachable";
}

/**
 * A platform does not take a token or a setting: trying again makes no sense, and may use up what the platform allows in
 * a day. The message is a sentence for the operator.
 */
export class PlatformRefused extends Error {
  override readonly name = "PlatformRefused";
}

/** A connection to a platform was lost and is being re-established. Adapters publish it on {@link reconnects}. */
export interface Reconnect {
  platform: string;
}

/** Carries every {@link Reconnect} of this process, for metrics. */
export const reconnects = diagnostics.channel("heddle:reconnects");

/**
 * A connection to a platform was made, or is lost or closed, as adapters publish on {@link connections}. Undefined: there
 * was none so far, because the platform was not reached.
 */
export interface ConnectionChange {
  platform: string;
  isConnected: boolean | undefined;
}

/** Carries every {@link ConnectionChange} of this process, for metrics. */
export const connections = diagnostics.channel("heddle:connections");

/** What a check of an installation found. `warning` and `error` say what to do; `note` says what no check can see. */
export interface Finding {
  level: "ok" | "note" | "warning" | "error";
  /** One line. */
  text: string;
}
