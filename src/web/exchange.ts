import { type IncomingMessage, request } from "node:http";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { untilAborted } from "../agent/until-aborted.ts";
import type { Allowance } from "../sandbox/egress/allowance.ts";
import { describeClosedPort, toDestination } from "../sandbox/egress/destination.ts";
import { dialPublic, refusedFor } from "../sandbox/egress/dial.ts";
import type { Dialer } from "../sandbox/egress/dialer.ts";

/** What an address answered, after redirects. `message` is one sentence for the model. */
export type Exchange =
  | { ok: true; address: URL; status: number; headers: IncomingMessage["headers"]; body: Buffer }
  | { ok: false; message: string; outage?: boolean };

export interface ExchangeOptions {
  dialer: Dialer;
  allowance: Allowance;
  /** Whether the operator lets the thread reach that host; asked for each redirect too. */
  isAllowed(host: string): boolean;
  /** Of a page, as it arrives and as it is unpacked. */
  maxBytes: number;
  /** For everything together: redirects, headers, body. */
  deadlineMs: number;
  signal: AbortSignal;
}

const mostRedirects = 5;
const redirects = [301, 302, 303, 307, 308];

const headers = {
  accept: "text/html, text/markdown, application/json;q=0.9, */*;q=0.8",
  "accept-encoding": "gzip, deflate, br",
  "user-agent": "Mozilla/5.0 (compatible; Heddle; reads pages that people ask about)",
};

/** Says what went wrong where the other side is at fault, in words for the model. */
class ExchangeError extends Error {
  readonly isOutage: boolean;
  constructor(message: string, isOutage = false) {
    super(message);
    this.isOutage = isOutage;
  }
}

/**
 * Gets an address with nothing of its own: no cookies, no credentials, no referrer. Redirects are followed here, each
 * judged like the first address, so that none leads where the first could not.
 */
export async function getAddress(address: string, options: ExchangeOptions): Promise<Exchange> {
  const deadline = AbortSignal.timeout(options.deadlineMs);
  const signal = AbortSignal.any([options.signal, deadline]);
  try {
    return await untilAborted(follow(address, { ...options, signal }), signal);
  } catch (error) {
    if (options.signal.aborted) return { ok: false, message: "It was ended before the page had arrived." };
    if (deadline.aborted) {
      const seconds = options.deadlineMs / 1_000;
      return fail(`${hostOf(address)} did not send the page within ${seconds} s.`, true);
    }
    if (error instanceof ExchangeError) return fail(error.message, error.isOutage);
    return fail(`${hostOf(address)} did not answer as HTTP demands (${codeOf(error)}).`, true);
  }
}

function fail(message: string, outage: boolean): Exchange {
  return { ok: false, message, ...(outage && { outage }) };
}

async function follow(address: string, options: ExchangeOptions): Promise<Exchange> {
  let url = checkForm(address);
  for (let hops = 0; ; hops += 1) {
    const answer = await ask(url, options);
    const { statusCode: status = 0 } = answer;
    const { location } = answer.headers;
    if (!redirects.includes(status) || location === undefined) {
      const body = await readBody(answer, url, options);
      return { ok: true, address: url, status, headers: answer.headers, body };
    }
    answer.destroy();
    if (hops === mostRedirects) throw new ExchangeError(`It redirects more than ${mostRedirects} times.`);
    // Node has read the bytes of its letters one by one.
    const next = URL.parse(Buffer.from(location, "latin1").toString(), url);
    if (!next) throw new ExchangeError(`${url.hostname} redirects to what is no address.`);
    url = checkForm(next.href, `${url.hostname} redirects to an address that cannot be fetched: `);
  }
}

/** @throws ExchangeError for an address of another form than those of public pages */
function checkForm(address: string, prefix = ""): URL {
  const url = URL.parse(address);
  const fault = findFault(url);
  if (!url || fault !== undefined) throw new ExchangeError(`${prefix}${fault}`);
  return url;
}

function findFault(url: URL | null): string | undefined {
  if (!url || !/^https?:$/.test(url.protocol))
    return "only addresses with http:// or https:// can be fetched.";
  if (url.username !== "" || url.password !== "")
    return "it holds a name or a password, which is never sent.";
  const closed = describeClosedPort(toDestination(url));
  return closed && `${closed}.`;
}

async function ask(url: URL, options: ExchangeOptions): Promise<IncomingMessage> {
  const { dialer, allowance, isAllowed, signal } = options;
  const destination = toDestination(url);
  const { host } = destination;
  const dialled = await dialPublic(destination, {
    ...{ dialer, allowance, isAllowed },
    isWanted: () => !signal.aborted,
    onSocket(socket) {
      signal.addEventListener("abort", () => socket.destroy(), { once: true });
      socket.on("error", () => {});
    },
  });
  if (!dialled.ok) throw new ExchangeError(`${dialled.reason}.`, dialled.status === 502);
  const { socket } = dialled;
  const sent = request({
    createConnection: () => (url.protocol === "https:" ? dialer.secure(socket, host) : socket),
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, host: url.host, connection: "close" },
    signal,
  });
  const answered = Promise.withResolvers<IncomingMessage>();
  sent.on("response", answered.resolve);
  sent.on("error", (error) => {
    socket.destroy();
    answered.reject(error);
  });
  // What a server sends before the answer, or instead of it, is none of ours.
  sent.on("upgrade", (_, upgraded) => {
    upgraded.destroy();
    answered.reject(new ExchangeError(`${host} wants another protocol than HTTP.`));
  });
  sent.end();
  return await answered.promise;
}

/** The body, unpacked, as far as both limits go. @throws ExchangeError */
async function readBody(answer: IncomingMessage, url: URL, options: ExchangeOptions): Promise<Buffer> {
  const { allowance, maxBytes, signal } = options;
  const tooLarge = () =>
    new ExchangeError(
      `${url.hostname} sends more than ${maxBytes / 1_048_576} MB, which is the limit of a page.`,
    );
  const limit = () => {
    let bytes = 0;
    return (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge();
    };
  };
  if (Number(answer.headers["content-length"] ?? 0) > maxBytes) {
    answer.destroy();
    throw tooLarge();
  }
  const countReceived = limit();
  const meter = async function* (source: AsyncIterable<Buffer>) {
    for await (const chunk of source) {
      countReceived(chunk);
      const permission = await allowance.take(chunk.length);
      if (permission !== "granted") throw new ExchangeError(`${refusedFor[permission].reason}.`);
      yield chunk;
    }
  };
  const chunks: Buffer[] = [];
  const countUnpacked = limit();
  const collect = async (source: AsyncIterable<Buffer>) => {
    for await (const chunk of source) {
      countUnpacked(chunk);
      chunks.push(chunk);
    }
  };
  const unpack = unpackerOf(answer.headers["content-encoding"], url);
  if (unpack) await pipeline(answer, meter, unpack, collect, { signal });
  else await pipeline(answer, meter, collect, { signal });
  return Buffer.concat(chunks);
}

function unpackerOf(encoding: string | undefined, url: URL) {
  switch (encoding?.trim().toLowerCase() ?? "") {
    case "":
    case "identity":
      return undefined;
    case "gzip":
    case "x-gzip":
      return createGunzip();
    case "deflate":
      return createInflate();
    case "br":
      return createBrotliDecompress();
    default:
      throw new ExchangeError(`${url.hostname} packs the page in a way that was not asked for.`);
  }
}

function hostOf(address: string): string {
  return URL.parse(address)?.hostname ?? "The host";
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "no reason";
  return "code" in error && typeof error.code === "string" ? error.code : "no code";
}
