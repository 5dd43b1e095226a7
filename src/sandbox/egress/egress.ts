import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmod, chown, mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { createDayAllowance, type DayCounter, processCounter } from "./allowance.ts";
import { type Dialer, dialerOf, publicDialer } from "./dialer.ts";
import { type EgressPolicy, type EgressRules, policyFor } from "./policy.ts";
import { createProxyServer } from "./proxy.ts";
import type { EgressRepository } from "./repository.ts";

export interface EgressLimits {
  /** Connections of a thread at the same time. */
  connections: number;
  /** Bytes in both directions that a thread may move in a day (UTC). */
  bytesPerDay: number;
}

/** The ways out of the sandboxes: nothing is reachable but what the operator lists, through one proxy per thread. */
export interface Egress extends WaysOut {
  /**
   * Ways out for what is no thread: these hosts alone and no credential, within the same limits.
   *
   * @param onUnlisted takes hosts that were asked for beside them
   */
  only(hosts: readonly string[], onUnlisted: (host: string) => void): WaysOut;
  /** What this policy opens and nothing else, within the same limits. */
  within(policy: EgressPolicy): WaysOut;
}

export interface WaysOut {
  /** Whether any thread may reach anything. */
  readonly isOpen: boolean;
  /** Undefined when the thread may reach nothing. */
  policyOf(threadId: string): EgressPolicy | undefined;
  /** Starts the proxy of a thread on a socket in `folder` that nobody but `owner` may use. */
  listen(threadId: string, folder: string, owner?: { uid: number; gid: number }): Promise<EgressProxy>;
}

/** Nothing is reachable. */
export const closedEgress: Egress = {
  isOpen: false,
  policyOf: () => undefined,
  listen: () => Promise.reject(new Error("There is no way out to listen for.")),
  only: () => closedEgress,
  within: () => closedEgress,
};

export interface EgressProxy {
  /** Path of the unix socket. */
  readonly socket: string;
  readonly maxConnections: number;
  /** Removes the socket's name; who has it mounted goes on using it. */
  unlink(): Promise<void>;
  /** Ends it with all its connections. */
  close(): Promise<void>;
}

/** What a thread has of the repositories. */
export type RepositoriesOf = (threadId: string) => readonly EgressRepository[];

/**
 * @param options.log takes lines about connections, refused ones too
 * @param options.counter counts what threads have moved, for all workers; without it this process counts for itself
 * @param options.repositoriesOf absent where there are none
 */
export function createEgress({
  rules,
  repositoriesOf,
  ...options
}: EgressOptions & { rules: EgressRules; repositoriesOf?: RepositoriesOf | undefined }): Egress {
  const counted = { counter: processCounter(), ...options };
  return {
    ...createWaysOut((threadId) => policyFor(rules, threadId, repositoriesOf?.(threadId)), counted),
    isOpen:
      repositoriesOf !== undefined ||
      rules.allow.length > 0 ||
      Object.keys(rules.registries ?? {}).length > 0 ||
      Object.values(rules.channels).some((hosts) => hosts.length > 0),
    only: (hosts, onUnlisted) => ({
      ...createWaysOut(() => ({ hosts, credentials: [] }), { ...counted, onUnlisted }),
      isOpen: hosts.length > 0,
    }),
    within: (policy) => ({ ...createWaysOut(() => policy, counted), isOpen: true }),
  };
}

interface EgressOptions {
  limits: EgressLimits;
  log(line: string): void;
  counter?: DayCounter;
  dialer?: Dialer;
  now?(): number;
}

function createWaysOut(
  policyOf: WaysOut["policyOf"],
  options: EgressOptions & { counter: DayCounter; onUnlisted?(host: string): void },
): Omit<WaysOut, "isOpen"> {
  const { limits, log, counter, dialer = publicDialer, now = Date.now, onUnlisted = () => {} } = options;

  return {
    policyOf,
    async listen(threadId, folder, owner) {
      const policy = policyOf(threadId) ?? { hosts: [], credentials: [] };
      const allowance = createDayAllowance({ threadId, counter, bytesPerDay: limits.bytesPerDay, now });
      const server = createProxyServer({
        policy,
        maxConnections: limits.connections,
        allowance,
        dialer: dialerOf(dialer, threadId),
        onUnlisted,
        log: (line) => log(`egress of ${threadId}: ${line}`),
        now,
      });
      await mkdir(folder, { recursive: true });
      await chmod(folder, 0o711);
      const name = randomBytes(6).toString("hex");
      const socket = join(folder, name);
      // A socket's path has at most 107 bytes, and the data folder's may be longer: so by way of a descriptor.
      const directory = await open(folder);
      try {
        server.listen(`/proc/self/fd/${directory.fd}/${name}`);
        await once(server, "listening");
        await chmod(socket, 0o600);
        if (owner) await chown(socket, owner.uid, owner.gid);
      } finally {
        await directory.close();
      }
      return {
        socket,
        maxConnections: limits.connections,
        unlink: () => rm(socket, { force: true }),
        async close() {
          await server.end();
          await allowance.giveBack();
          await rm(socket, { force: true });
        },
      };
    },
  };
}
