import { setTimeout as sleep } from "node:timers/promises";
import { callTool } from "./call.ts";
import type { McpCallOutcome, CallRequest } from "./call.ts";
import type { EnabledServer, McpTimeouts } from "./config.ts";
import { startDeadline } from "./deadline.ts";
import { createLink } from "./link.ts";
import type { Link } from "./link.ts";
import { listTools } from "./listing.ts";
import type { Listing } from "./listing.ts";

/**
 * Where a connection stands. It is made when it is needed and made again, when needed, after it was lost:
 * there is nothing that runs in the background.
 */
export type ConnectionState =
  | { kind: "idle" }
  /** `settled` never rejects. No turn waits for it beyond `patienceEnds`. */
  | { kind: "connecting"; settled: Promise<void>; patienceEnds: number }
  /** Its tools are to be listed again from `listAt` on; `problem`: why that has failed. */
  | { kind: "ready"; link: Link; listAt: number; problem?: string }
  /** It worked and went away: its tools stay listed, and the next use connects again. */
  | { kind: "lost"; problem: string }
  /** It could not be reached: it has no tools, and no attempt is made before `retryAt`. */
  | { kind: "failed"; problem: string; retryAt: number }
  | { kind: "closed" };

/** One server, shared by all turns of the process. */
export interface Connection {
  state(): ConnectionState;
  /** As last listed. */
  listing(): Listing;
  /**
   * Connects, or lists again what has changed. A server that failed before is tried again without being waited
   * for, so that a dead one delays nobody twice. Never rejects.
   */
  refresh(signal: AbortSignal): Promise<void>;
  /** `repeatable`: when it is not known whether the call ran, it may be made once more. Never rejects. */
  call(request: CallRequest, repeatable: boolean): Promise<McpCallOutcome>;
  /** Ends the connection and the server's process, within some three seconds. */
  close(): Promise<void>;
}

export interface ConnectionOptions {
  timeouts: McpTimeouts;
  /** How long a turn waits for a server that is new or was lost, in milliseconds. */
  patienceMs: number;
  /** The rest after the first failed attempt; it doubles with each further one, up to `capMs`. */
  backoff: { baseMs: number; capMs: number };
  now: () => number;
  /** Takes secrets out of a text. */
  mask: (text: string) => string;
  log: (level: "info" | "warn", message: string) => void;
}

const nothingListed: Listing = { tools: [], leftOut: [] };

export function createConnection(server: EnabledServer, options: ConnectionOptions): Connection {
  const { timeouts, backoff, now, mask, log } = options;
  const life = new AbortController();
  let state: ConnectionState = { kind: "idle" };
  let listing = nothingListed;
  let failures = 0;

  return { state: () => state, listing: () => listing, refresh, call, close };

  async function refresh(signal: AbortSignal): Promise<void> {
    connectIfDue();
    if (state.kind === "connecting") await waitFor(state.settled, state.patienceEnds - now(), signal);
    else if (state.kind === "ready" && state.listAt <= now()) {
      await waitFor(listAgain(state), failures > 0 ? 0 : options.patienceMs, signal);
    }
  }

  async function call(request: CallRequest, repeatable: boolean): Promise<McpCallOutcome> {
    const first = await usableLink(request.signal);
    if (!("client" in first)) return first;
    const outcome = await callOver(first, request);
    if (outcome.kind !== "unavailable" && !(outcome.kind === "lost" && repeatable)) return outcome;
    const second = await usableLink(request.signal);
    return "client" in second ? await callOver(second, request) : second;
  }

  async function callOver(link: Link, request: CallRequest): Promise<McpCallOutcome> {
    const outcome = await callTool(link, request, timeouts.executeMs);
    return "problem" in outcome ? { ...outcome, problem: mask(outcome.problem) } : outcome;
  }

  async function usableLink(signal: AbortSignal): Promise<Link | McpCallOutcome> {
    connectIfDue();
    if (state.kind === "connecting") await waitFor(state.settled, timeouts.connectMs, signal);
    if (signal.aborted) return { kind: "stopped" };
    return state.kind === "ready" ? state.link : { kind: "unavailable", problem: whyNot(state) };
  }

  function connectIfDue(): void {
    switch (state.kind) {
      case "idle":
      case "lost":
        return connect(options.patienceMs);
      case "failed":
        return now() < state.retryAt ? undefined : connect(0);
      case "connecting":
      case "ready":
      case "closed":
        return;
    }
  }

  function connect(patienceMs: number): void {
    state = { kind: "connecting", settled: establish(), patienceEnds: now() + patienceMs };
  }

  async function establish(): Promise<void> {
    const opened = await open();
    if (life.signal.aborted) return "link" in opened ? await opened.link.close() : undefined;
    if ("link" in opened) {
      failures = 0;
      listing = opened.listing;
      state = { kind: "ready", link: opened.link, listAt: Infinity };
      log("info", `connected, ${listing.tools.length} tools`);
    } else {
      listing = nothingListed;
      state = { kind: "failed", problem: mask(opened.problem), retryAt: now() + nextRest() };
      log("warn", `not connected: ${state.problem}`);
    }
  }

  /** How long to rest after one more failure, in milliseconds. */
  function nextRest(): number {
    const restMs = Math.min(backoff.capMs, backoff.baseMs * 2 ** failures);
    failures += 1;
    return restMs;
  }

  async function open(): Promise<{ link: Link; listing: Listing } | { problem: string }> {
    const deadline = startDeadline(timeouts.connectMs, life.signal);
    const link = createLink(server.endpoint, timeouts.readMs, {
      onEnd() {
        if (state.kind !== "ready" || state.link !== link) return;
        state = { kind: "lost", problem: mask(link.explain("the connection was closed")) };
        log("warn", `connection lost: ${state.problem}`);
      },
      onToolsChanged() {
        if (state.kind === "ready" && state.link === link) state = { ...state, listAt: 0 };
      },
    });
    try {
      await link.connect(deadline.signal);
      return { link, listing: await listTools(link.client, deadline.signal) };
    } catch (error) {
      const problem = link.explain(
        deadline.expired() ? `no answer within ${timeouts.connectMs / 1000} s` : error,
      );
      await link.close();
      return { problem };
    } finally {
      deadline.release();
    }
  }

  /** Keeps the old list, and tries again after a rest, when that fails: a call will show whether the server still works. */
  async function listAgain(ready: Extract<ConnectionState, { kind: "ready" }>): Promise<void> {
    const { link } = ready;
    // Set first: a change that is announced while the list is on its way makes it stale again.
    state = { ...ready, listAt: Infinity };
    const deadline = startDeadline(timeouts.connectMs, life.signal);
    try {
      const fresh = await listTools(link.client, deadline.signal);
      if (state.kind !== "ready" || state.link !== link) return;
      failures = 0;
      listing = fresh;
      state = { kind: "ready", link, listAt: state.listAt };
      log("info", `listed again, ${listing.tools.length} tools`);
    } catch (error) {
      const problem = `its changed tools could not be listed: ${mask(link.explain(error))}`;
      log("warn", problem);
      if (state.kind === "ready" && state.link === link) {
        state = { kind: "ready", link, listAt: now() + nextRest(), problem };
      }
    } finally {
      deadline.release();
    }
  }

  function whyNot(current: ConnectionState): string {
    switch (current.kind) {
      case "failed": {
        const seconds = Math.max(1, Math.ceil((current.retryAt - now()) / 1000));
        return `${current.problem}; the next attempt is possible in ${seconds} s`;
      }
      case "lost":
        return current.problem;
      case "connecting":
        return `no connection within ${timeouts.connectMs / 1000} s`;
      case "idle":
      case "ready":
      case "closed":
        return "the connection was closed";
    }
  }

  async function close(): Promise<void> {
    const last = state;
    life.abort();
    state = { kind: "closed" };
    listing = nothingListed;
    if (last.kind === "connecting") await last.settled;
    if (last.kind === "ready") await last.link.close();
  }
}

/** Ends with the promise, the time or the signal. */
async function waitFor(settled: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
  const waiting = new AbortController();
  const onAbort = () => waiting.abort();
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  await Promise.race([
    settled,
    sleep(Math.max(ms, 0), undefined, { signal: waiting.signal }).catch(() => {}),
  ]);
  signal.removeEventListener("abort", onAbort);
  waiting.abort();
}
