import type { ServiceHost } from "../../sandbox/service.ts";
import { type CallRequest, callTool, type McpCallOutcome } from "./call.ts";
import type { EnabledServer, McpTimeouts } from "./config.ts";
import { startDeadline, waitFor } from "./deadline.ts";
import { describeError } from "./failure.ts";
import { isFrozen } from "./is-frozen.ts";
import type { Link, ServerEra } from "./transport/link.ts";
import { createLink } from "./transport/open-link.ts";
import { type Listing, nothingListed } from "./listing/listing.ts";
import { toParamHeaders } from "./transport/param-headers.ts";
import { type FreshListing, leastFreshMs, readListing } from "./listing/read-listing.ts";
import { RunningCalls } from "./running-calls.ts";
import type { AccountStore } from "../contracts/mcp-account.ts";

/**
 * The state of a connection. It is opened on first use and reopened on the next use after it was lost; nothing runs in
 * the background.
 */
export type ConnectionState =
  | { kind: "idle" }
  /** `settled` never rejects. No turn waits for it beyond `patienceEnds`. `problem`: why it is tried again. */
  | { kind: "connecting"; settled: Promise<void>; patienceEnds: number; problem?: string }
  /** Its tools are due to be listed again at `listAt`; `problem`: why the last attempt failed. */
  | { kind: "ready"; link: Link; listAt: number; problem?: string }
  /** The connection was lost: its tools stay listed, and the next use reconnects. */
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
   * Connects, or refreshes the list of tools when it has changed. A server that failed before is retried without
   * waiting for it, so that a dead one delays nobody twice. Never rejects.
   */
  refresh(signal: AbortSignal): Promise<void>;
  /** Lists the tools again where the server has announced that they changed. Never connects, never rejects. */
  relist(signal: AbortSignal): Promise<void>;
  /** `repeatable`: the call may be retried once if it is unknown whether it ran. Never rejects. */
  call(request: CallRequest, repeatable: boolean): Promise<McpCallOutcome>;
  /** Ends the connection and the server's process, within some three seconds. */
  close(): Promise<void>;
}

export interface ConnectionOptions {
  /** See {@link LinkOptions}. */
  version: string;
  timeouts: McpTimeouts;
  /** Where server processes run. */
  sandboxes?: ServiceHost | undefined;
  /** See {@link LinkOptions}. */
  accounts?: AccountStore | undefined;
  onToken?: ((token: string) => void) | undefined;
  /** How long a turn waits for a server that is new or was lost, in milliseconds. */
  patienceMs: number;
  /** The wait after the first failed attempt; it doubles with each further one, up to `capMs`. */
  backoff: { baseMs: number; capMs: number };
  now: () => number;
  /** Takes secrets out of a text. */
  mask: (text: string) => string;
  log: (level: "info" | "warn", message: string) => void;
}

export function createConnection(server: EnabledServer, options: ConnectionOptions): Connection {
  return new ServerConnection(server, options);
}

class ServerConnection implements Connection {
  readonly #server: EnabledServer;
  readonly #options: ConnectionOptions;
  readonly #life = new AbortController();
  #state: ConnectionState = { kind: "idle" };
  #listing = nothingListed;
  #failures = 0;
  readonly #era: ServerEra = { isStateless: false };
  readonly #calls = new RunningCalls((error) => {
    const problem = this.#options.mask(describeError(error));
    this.#options.log("warn", `what it asked during a call could not be kept: ${problem}`);
  });
  /** Prompts that are still to come. */
  #late: FreshListing["late"];

  constructor(server: EnabledServer, options: ConnectionOptions) {
    this.#server = server;
    this.#options = options;
  }

  state(): ConnectionState {
    return this.#state;
  }

  listing(): Listing {
    return this.#listing;
  }

  async refresh(signal: AbortSignal): Promise<void> {
    this.#connectIfDue();
    if (this.#state.kind === "connecting")
      await waitFor(this.#state.settled, this.#state.patienceEnds - this.#options.now(), signal);
    else await this.relist(signal);
  }

  async relist(signal: AbortSignal): Promise<void> {
    if (this.#state.kind !== "ready" || this.#state.listAt > this.#options.now()) return;
    await waitFor(this.#listAgain(this.#state), this.#failures > 0 ? 0 : this.#options.patienceMs, signal);
  }

  async call(request: CallRequest, repeatable: boolean): Promise<McpCallOutcome> {
    const first = await this.#findLink(request.signal);
    if (!("client" in first)) return first;
    const outcome = await this.#callOver(first, request);
    if (outcome.kind === "refused" && outcome.outdated) {
      this.#listSoon(first);
      await this.relist(request.signal);
      return await this.#callOver(first, request);
    }
    if (outcome.kind !== "unavailable" && !(outcome.kind === "lost" && repeatable)) return outcome;
    const second = await this.#findLink(request.signal);
    return "client" in second ? await this.#callOver(second, request) : second;
  }

  async #callOver(link: Link, request: CallRequest): Promise<McpCallOutcome> {
    const { executeMs } = this.#options.timeouts;
    const sent = { executeMs, headers: this.#repeatArguments(request) };
    const outcome = await this.#calls.run(request, (running) => callTool(link, running, sent));
    if (outcome.kind === "timed-out") void this.#endIfFrozen(link);
    return "problem" in outcome ? { ...outcome, problem: this.#options.mask(outcome.problem) } : outcome;
  }

  /** After a call over its time: the next use begins anew. */
  async #endIfFrozen(link: Link): Promise<void> {
    const { executeMs, connectMs } = this.#options.timeouts;
    const silentMs = Math.max(executeMs, connectMs);
    if (!(await isFrozen(link, silentMs, this.#life.signal))) return;
    this.#loseLink(link, `after a call over its time it answered nothing for ${silentMs / 1000} s`);
    await link.close();
  }

  #repeatArguments(request: CallRequest): Record<string, string> {
    if (!("tool" in request)) return {};
    const tool = this.#listing.tools.find(({ name }) => name === request.tool);
    return toParamHeaders(tool?.paramHeaders ?? [], request.input);
  }

  async #findLink(signal: AbortSignal): Promise<Link | McpCallOutcome> {
    this.#connectIfDue();
    if (this.#state.kind === "connecting")
      await waitFor(this.#state.settled, this.#options.timeouts.connectMs, signal);
    if (signal.aborted) return { kind: "stopped" };
    return this.#state.kind === "ready"
      ? this.#state.link
      : { kind: "unavailable", problem: this.#explainState(this.#state) };
  }

  #connectIfDue(): void {
    switch (this.#state.kind) {
      case "idle":
        return this.#connect(this.#options.patienceMs);
      case "lost":
        return this.#connect(this.#options.patienceMs, this.#state.problem);
      case "failed":
        if (this.#options.now() >= this.#state.retryAt) this.#connect(0, this.#state.problem);
        return;
      case "connecting":
      case "ready":
      case "closed":
        return;
    }
  }

  #connect(patienceMs: number, problem?: string): void {
    this.#state = {
      kind: "connecting",
      settled: this.#establish(),
      patienceEnds: this.#options.now() + patienceMs,
      ...(problem !== undefined && { problem }),
    };
  }

  async #establish(): Promise<void> {
    const opened = await this.#openLink();
    if (this.#life.signal.aborted) return "link" in opened ? await opened.link.close() : undefined;
    if ("link" in opened) {
      this.#failures = 0;
      this.#state = { kind: "ready", link: opened.link, listAt: this.#options.now() + opened.freshMs };
      this.#takeListing(opened.link, opened);
      this.#options.log("info", `connected, ${this.#listing.tools.length} tools`);
    } else {
      this.#listing = nothingListed;
      this.#state = {
        kind: "failed",
        problem: this.#options.mask(opened.problem),
        retryAt: this.#options.now() + this.#nextBackoff(),
      };
      this.#options.log("warn", `not connected: ${this.#state.problem}`);
    }
  }

  /** How long to wait after one more failure, in milliseconds. */
  #nextBackoff(): number {
    const { baseMs, capMs } = this.#options.backoff;
    const waitMs = Math.min(capMs, baseMs * 2 ** this.#failures);
    this.#failures += 1;
    return waitMs;
  }

  async #openLink(): Promise<({ link: Link } & FreshListing) | { problem: string }> {
    const deadline = startDeadline(this.#options.timeouts.connectMs, this.#life.signal);
    const { timeouts, ...given } = this.#options;
    const link: Link = createLink(
      this.#server,
      { readMs: timeouts.readMs, era: this.#era, ...given },
      {
        onEnd: () => this.#loseLink(link),
        onListChanged: () => this.#listSoon(link),
        onElicit: (params) => this.#calls.elicit(params),
      },
    );
    try {
      await link.connect(deadline.signal);
      return { link, ...(await this.#readListing(link, deadline.signal)) };
    } catch (error) {
      const problem = link.explain(
        deadline.expired() ? `no answer within ${this.#options.timeouts.connectMs / 1000} s` : error,
      );
      await link.close();
      return { problem };
    } finally {
      deadline.release();
    }
  }

  async #readListing(link: Link, signal: AbortSignal): Promise<FreshListing> {
    // First, so that no change falls between the two.
    void link.follow();
    const limits = { promptMs: this.#options.timeouts.connectMs, life: this.#life.signal };
    const { listing, ...fresh } = await readListing(link, signal, limits);
    return { ...fresh, listing: { ...listing, instructions: this.#options.mask(listing.instructions) } };
  }

  #takeListing(link: Link, { listing, late, lacksPrompts }: FreshListing): void {
    this.#late = late;
    // Those that it had stay until it has told them again.
    this.#listing = late || lacksPrompts ? { ...listing, prompts: this.#listing.prompts } : listing;
    void late?.then(({ prompts, leftOut, hasFailed }) => {
      if (this.#late !== late || this.#state.kind !== "ready" || this.#state.link !== link) return;
      const known = hasFailed ? this.#listing.prompts : prompts;
      this.#listing = { ...listing, prompts: known, leftOut: [...listing.leftOut, ...leftOut] };
      const listAt = hasFailed ? this.#options.now() + leastFreshMs : Infinity;
      this.#state = { ...this.#state, listAt: Math.min(this.#state.listAt, listAt) };
    });
  }

  #loseLink(link: Link, why = "the connection was closed"): void {
    if (this.#state.kind !== "ready" || this.#state.link !== link) return;
    const problem = this.#options.mask(link.explain(why));
    this.#state = { kind: "lost", problem };
    this.#options.log("warn", `connection lost: ${problem}`);
  }

  #listSoon(link: Link): void {
    if (this.#state.kind === "ready" && this.#state.link === link)
      this.#state = { ...this.#state, listAt: 0 };
  }

  /** On failure keeps the old list and retries after a back-off: a call will show whether the server still works. */
  async #listAgain(ready: Extract<ConnectionState, { kind: "ready" }>): Promise<void> {
    const { link } = ready;
    // Set first: a change announced while the list is being fetched makes it stale again.
    this.#state = { ...ready, listAt: Infinity };
    const deadline = startDeadline(this.#options.timeouts.connectMs, this.#life.signal);
    try {
      const fresh = await this.#readListing(link, deadline.signal);
      if (this.#state.kind !== "ready" || this.#state.link !== link) return;
      this.#failures = 0;
      this.#takeListing(link, fresh);
      const listAt = Math.min(this.#state.listAt, this.#options.now() + fresh.freshMs);
      this.#state = { kind: "ready", link, listAt };
      this.#options.log("info", `listed again, ${this.#listing.tools.length} tools`);
    } catch (error) {
      const problem = `its changed tools could not be listed: ${this.#options.mask(link.explain(error))}`;
      this.#options.log("warn", problem);
      if (this.#state.kind === "ready" && this.#state.link === link) {
        this.#state = { kind: "ready", link, listAt: this.#options.now() + this.#nextBackoff(), problem };
      }
    } finally {
      deadline.release();
    }
  }

  #explainState(current: ConnectionState): string {
    switch (current.kind) {
      case "failed": {
        const seconds = Math.max(1, Math.ceil((current.retryAt - this.#options.now()) / 1000));
        return `${current.problem}; the next attempt is possible in ${seconds} s`;
      }
      case "lost":
        return current.problem;
      case "connecting":
        return `no connection within ${this.#options.timeouts.connectMs / 1000} s`;
      case "idle":
      case "ready":
      case "closed":
        return "the connection was closed";
    }
  }

  async close(): Promise<void> {
    const last = this.#state;
    this.#life.abort();
    this.#state = { kind: "closed" };
    this.#listing = nothingListed;
    if (last.kind === "connecting") await last.settled;
    if (last.kind === "ready") await last.link.close();
  }
}
