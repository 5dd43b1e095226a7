import { existsSync, statSync } from "node:fs";
import { constants } from "node:os";
import { basename, dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  isSeen,
  type ServiceAccess,
  type ServiceEnd,
  type ServiceHost,
  servicePath,
} from "../../../sandbox/service.ts";
import type { StdioEndpoint } from "../config.ts";
import { graceMs, type StartServer } from "./server-process.ts";

/**
 * Runs a server in a sandbox of its own, which has what `sandbox` of its entry names.
 *
 * @param sandboxes undefined where there are none: then it does not start
 */
export function startSandboxed(
  server: StdioEndpoint & { name: string; access: ServiceAccess },
  sandboxes: ServiceHost | undefined,
): StartServer {
  return async (onOutput) => {
    const started =
      (await sandboxes?.serve({ ...server, name: `mcp:${server.name}`, onOutput })) ?? noSandboxes;
    if (!started.ok) {
      throw new Error(
        started.reason === "no-sandbox" ? describeMissingSandbox(started.problem) : started.problem,
      );
    }
    const { service } = started;
    let end: ServiceEnd | undefined;
    const ended = service.ended.then((ending) => {
      end = ending;
      return describeEnd(ending);
    });
    return {
      ended,
      hint: () =>
        describeMissing(server, { exitCode: end?.exitCode ?? null, refusedHosts: service.refusedHosts() }),
      write: (text) => service.write(Buffer.from(text)),
      async stop() {
        service.closeInput();
        const timer = new AbortController();
        await Promise.race([ended, sleep(graceMs, undefined, { signal: timer.signal }).catch(() => {})]);
        timer.abort();
        await service.kill();
      },
    };
  };
}

const noSandboxes = { ok: false, reason: "no-sandbox", problem: "none was given" } as const;

function describeMissingSandbox(problem: string): string {
  return `it was not started, because there is no sandbox for it here (${problem}); see \`heddle doctor\`, or say "sandbox": false in its entry to run it as Heddle's own user, with all of that user's rights`;
}

function describeEnd({ exitCode, problem }: ServiceEnd): string {
  if (exitCode === null) return problem ?? "its process ended";
  const signal = Object.entries(constants.signals).find(([, number]) => exitCode === 128 + number)?.[0];
  return `its process ${signal ? `was ended by ${signal}` : `exited with code ${exitCode}`}`;
}

/** What bash says of a command that it does not find. */
const notFound = 127;

/** What a server that does not work seems to lack, with the line of its entry that gives it. Empty where nothing is known. */
function describeMissing(
  { command, args, access }: Pick<StdioEndpoint, "command" | "args"> & { access: ServiceAccess },
  { exitCode, refusedHosts }: { exitCode: number | null; refusedHosts: readonly string[] },
): string {
  const named = [command, ...args].flatMap(readPaths);
  const hidden = [
    ...new Set(named.filter((path) => existsSync(path) && !isSeen(path, access)).map(toFolder)),
  ];
  const engine = ["docker", "podman", "nerdctl"].find((name) => name === basename(command));
  const clauses: string[] = [];
  if (engine) {
    clauses.push(
      `${engine} starts containers through its engine, which no sandbox reaches: say "sandbox": false in its entry, and the container is what confines it`,
    );
  } else if (hidden.length > 0) {
    clauses.push(`its sandbox does not have ${hidden.join(" and ")}: add ${entryLine("read", hidden)}`);
  } else if (exitCode === notFound && command.includes("/") && !existsSync(command)) {
    clauses.push(`its command ${command} does not exist`);
  } else if (exitCode === notFound && !command.includes("/")) {
    clauses.push(
      `a sandbox finds programs in ${servicePath.join(", ")}: install ${command} there, or give its full path as "command" and its folder in "read"`,
    );
  }
  if (refusedHosts.length > 0) {
    const known = access.network === "host" ? [] : access.network;
    clauses.push(
      `its sandbox does not reach ${refusedHosts.join(", ")}: add ${entryLine("network", [...known, ...refusedHosts])}`,
    );
  }
  return clauses.join("; ");
}

function entryLine(key: string, values: readonly string[]): string {
  return `"${key}": ${JSON.stringify(values).replaceAll('","', '", "')} to "sandbox" of its entry`;
}

/** Absolute paths in an argument: as a whole, or behind the `=` of an option. */
function readPaths(argument: string): string[] {
  const path = /^(?:--?[\w-]+=)?(\/.*)$/s.exec(argument)?.[1];
  return path === undefined ? [] : [path];
}

/** A script needs what lies beside it. */
function toFolder(path: string): string {
  return statSync(path).isDirectory() ? path : dirname(path);
}
