import { once } from "node:events";
import type { Socket } from "node:net";
import type { buildConnector } from "undici";
import { connectWithinMs, describeClosedPort, judgeAddresses, toDestination } from "./egress/destination.ts";
import { type Dialer, publicDialer } from "./egress/dialer.ts";

/** An address that is not asked, as a sentence without its end. Nothing was sent. */
export class AddressRefused extends Error {
  override readonly name = "AddressRefused";
}

export interface GuardedFetchOptions {
  /**
   * What the operator has written: an address, or a host with its port, where that is not 80 or 443. It may be private;
   * everything else, which others have named, must be public and at one of these two ports.
   */
  named: readonly (URL | string)[];
  /** Default: the real network. */
  dialer?: Dialer;
}

export type GuardedFetch = (address: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * `fetch` for addresses that others than the operator may have chosen. A name is looked up once, and what was judged is
 * what is dialled, so that no second answer leads elsewhere. A redirect is handed back, or with `redirect: "error"`
 * thrown, and never followed: whoever follows one asks anew.
 *
 * A named host may be private, since whoever has written it means it. Should a public one move its name to a private
 * address, it meets the certificate that https demands there. Link-local addresses, where clouds keep their metadata, are
 * reached only as they are written.
 *
 * Where the process has a proxy for its requests, that proxy looks names up; here they are then judged as far as they
 * can be.
 *
 * ```ts
 * const fetch = createGuardedFetch({ named: [new URL("http://localhost:3333/mcp")] });
 * await fetch("http://localhost:3333/mcp"); // asked
 * await fetch("https://localhost/token"); // throws AddressRefused
 * ```
 */
export function createGuardedFetch({ named, dialer = publicDialer }: GuardedFetchOptions): GuardedFetch {
  const rules: Rules = { isNamed: (url) => named.some((entry) => matches(entry, url)), dialer };
  const opening = () => openAgent(rules);
  let opened: ReturnType<typeof opening> | undefined;
  return async (address, init = {}) => {
    const url = new URL(address);
    const redirect = init.redirect === "error" ? "error" : "manual";
    const closed = rules.isNamed(url) ? undefined : describeClosedPort(toDestination(url));
    if (closed !== undefined) throw new AddressRefused(closed);
    if (process.env["NODE_USE_ENV_PROXY"] === "1") {
      // The proxy looks the name up again, and may know it where this machine does not.
      await resolveJudged(url, { ...rules, resolve: (host) => dialer.resolve(host).catch(() => []) });
      return await fetch(url, { ...init, redirect });
    }
    // Loaded with the first request: most processes ask nobody.
    opened ??= opening();
    const { fetch: send, dispatcher } = await opened;
    try {
      return await send(url, { ...init, redirect, dispatcher });
    } catch (error) {
      if (error instanceof Error && error.cause instanceof AddressRefused) throw error.cause;
      throw error;
    }
  };
}

function matches(entry: URL | string, url: URL): boolean {
  if (typeof entry !== "string") return entry.protocol === url.protocol && entry.host === url.host;
  return entry === url.host;
}

interface Rules {
  isNamed(url: URL): boolean;
  dialer: Dialer;
}

async function openAgent(rules: Rules) {
  const { Agent, fetch } = await import("undici");
  const connect: buildConnector.connector = ({ protocol, host, hostname }, callback) => {
    void dial(new URL(`${protocol}//${host ?? hostname}`), rules, callback);
  };
  return { fetch, dispatcher: new Agent({ connect }) };
}

/** Connects to what was judged; each of its addresses is tried. */
async function dial(url: URL, rules: Rules, callback: buildConnector.Callback): Promise<void> {
  const { dialer } = rules;
  const isSecure = url.protocol === "https:";
  const { host, port } = toDestination(url);
  let failure = new Error(`${host} has no address`);
  try {
    for (const address of await resolveJudged(url, { ...rules, resolve: (name) => dialer.resolve(name) })) {
      const socket = dialer.connect(address, port);
      try {
        await awaitEvent(socket, "connect");
        const secured = isSecure ? dialer.secure(socket, host) : socket;
        if (isSecure) await awaitEvent(secured, "secureConnect");
        return callback(null, secured);
      } catch (error) {
        socket.destroy();
        failure = toError(error);
      }
    }
  } catch (error) {
    failure = toError(error);
  }
  callback(failure, null);
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

async function awaitEvent(socket: Socket, event: string): Promise<void> {
  const late = AbortSignal.timeout(connectWithinMs);
  try {
    await once(socket, event, { signal: late });
  } catch (error) {
    if (!late.aborted) throw error;
    const silent = new Error(`no connection within ${connectWithinMs / 1_000} s`);
    throw Object.assign(silent, { code: "UND_ERR_CONNECT_TIMEOUT" });
  }
}

async function resolveJudged(
  url: URL,
  { isNamed, resolve }: { isNamed: Rules["isNamed"]; resolve: Dialer["resolve"] },
): Promise<string[]> {
  const { host } = toDestination(url);
  const { addresses, problem } = judgeAddresses(host, await resolve(host), { isNamed: isNamed(url) });
  if (problem !== undefined) throw new AddressRefused(problem);
  return addresses;
}
