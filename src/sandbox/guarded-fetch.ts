import { once } from "node:events";
import { isIP, type Socket } from "node:net";
import type { buildConnector } from "undici";
import { type Dialer, publicDialer } from "./egress/dialer.ts";
import { isLinkLocalAddress, isPublicAddress } from "./egress/private-addresses.ts";

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

const ports = ["", "80", "443"];
const connectWithinMs = 10_000;

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
  const isNamed = (url: URL) => named.some((entry) => matches(entry, url));
  return createSender({ isNamed, dialer });
}

function matches(entry: URL | string, url: URL): boolean {
  if (typeof entry !== "string") return entry.protocol === url.protocol && entry.host === url.host;
  return entry === url.host;
}

interface SenderOptions {
  isNamed(url: URL): boolean;
  dialer: Dialer;
}

/** The library is loaded with the first request: most processes ask nobody. */
function createSender({ isNamed, dialer }: SenderOptions): GuardedFetch {
  const opening = () => openAgent({ isNamed, dialer });
  let opened: ReturnType<typeof opening> | undefined;
  return async (address, init = {}) => {
    const url = new URL(address);
    const redirect = init.redirect === "error" ? "error" : "manual";
    if (!isNamed(url) && !ports.includes(url.port))
      throw new AddressRefused(`port ${url.port} of ${url.hostname} is closed; only 80 and 443 are open`);
    if (process.env["NODE_USE_ENV_PROXY"] === "1") {
      await resolveJudged(url, { isNamed, dialer, mayFail: true });
      return await fetch(url, { ...init, redirect });
    }
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

async function openAgent(options: SenderOptions) {
  const { Agent, fetch } = await import("undici");
  const connect: buildConnector.connector = ({ protocol, host, hostname }, callback) => {
    void dial(new URL(`${protocol}//${host ?? hostname}`), options, callback);
  };
  return { fetch, dispatcher: new Agent({ connect }) };
}

/** Connects to what was judged; each of its addresses is tried. */
async function dial(url: URL, options: SenderOptions, callback: buildConnector.Callback): Promise<void> {
  const isSecure = url.protocol === "https:";
  const port = Number(url.port) || (isSecure ? 443 : 80);
  let failure = new Error(`${url.hostname} has no address`);
  try {
    for (const address of await resolveJudged(url, options)) {
      const socket = options.dialer.connect(address, port);
      try {
        await awaitEvent(socket, "connect");
        const secured = isSecure ? options.dialer.secure(socket, hostOf(url)) : socket;
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

/** @param options.mayFail somebody else looks the name up again; then there may be no address at all */
async function resolveJudged(
  url: URL,
  { isNamed, dialer, mayFail = false }: SenderOptions & { mayFail?: boolean },
): Promise<string[]> {
  const host = hostOf(url);
  const found = await dialer.resolve(host).catch((error: unknown) => {
    if (mayFail) return [];
    throw error;
  });
  const mayDial = isNamed(url)
    ? (address: string) => isIP(host) !== 0 || !isLinkLocalAddress(address)
    : isPublicAddress;
  const judged = found.filter(mayDial);
  if (judged.length > 0 || (mayFail && found.length === 0)) return judged;
  throw new AddressRefused(
    isNamed(url)
      ? `${host} is at a link-local address, where clouds keep their credentials`
      : `${host} is at a private address`,
  );
}

/** A name may end with the dot of the root, and an address of version 6 stands in brackets. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/\.$/, "").replace(/^\[(.*)\]$/, "$1");
}
