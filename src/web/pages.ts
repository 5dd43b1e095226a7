import type { Masker } from "../agent/secrets/masker.ts";
import type { WebPages, WebReading } from "../agent/contracts/web.ts";
import { createDayAllowance, type DayCounter } from "../sandbox/egress/allowance.ts";
import { type Dialer, dialerOf, publicDialer } from "../sandbox/egress/dialer.ts";
import { isListed } from "../sandbox/egress/policy.ts";
import type { AddressBook } from "./addresses.ts";
import { createPageCache } from "./cache.ts";
import { type Exchange, getAddress } from "./exchange.ts";
import { createExtractor, type Extractor } from "./extract/extractor.ts";
import { type AddressRules, judgeAddress } from "./judge-address.ts";

export interface PageLimits {
  /** Of a page, as it arrives and as it is unpacked. */
  bytes: number;
  /** For an exchange with all its redirects, ms. */
  deadlineMs: number;
  /** How long a page is not fetched again in its thread, ms. */
  cacheMs: number;
  /** What a thread may move in a day, with what its commands move. */
  bytesPerDay: number;
}

export interface PagesOptions {
  limits: PageLimits;
  counter: DayCounter;
  masker: Masker;
  now(): number;
  /** Default: the public internet. */
  dialer?: Dialer;
  extractor?: Extractor;
}

/** Makes a thread's access to pages. What was read is remembered between its turns, for some minutes. */
export function createPages({
  limits,
  counter,
  masker,
  now,
  dialer = publicDialer,
  extractor = createExtractor(),
}: PagesOptions): (thread: string, rules: AddressRules, book: AddressBook) => WebPages {
  const cache = createPageCache(limits.cacheMs, now);

  return (thread, rules, book) => ({
    judge: (address) => judgeAddress(address, rules, { book, masker }),
    noteShown: (result) => book.noteShown(result),
    async read(address, { whole, signal }) {
      const key = `${thread} ${whole} ${address}`;
      const known = cache.find(key);
      if (known) return known;
      const allowance = createDayAllowance({
        ...{ threadId: thread, counter, now },
        bytesPerDay: limits.bytesPerDay,
      });
      try {
        const exchange = await getAddress(address, {
          ...{ dialer: dialerOf(dialer, thread), allowance, signal },
          isAllowed: (host) => rules.mode === "open" || isListed(rules.hosts, host),
          maxBytes: limits.bytes,
          deadlineMs: limits.deadlineMs,
        });
        const reading = await toReading(exchange, { extractor, whole, signal, at: now() });
        if (reading.ok) cache.keep(key, reading);
        return reading;
      } finally {
        await allowance.giveBack();
      }
    },
  });
}

async function toReading(
  exchange: Exchange,
  { extractor, whole, signal, at }: { extractor: Extractor; whole: boolean; signal: AbortSignal; at: number },
): Promise<WebReading> {
  if (!exchange.ok) return exchange;
  const { address, status, headers, body } = exchange;
  const told = explainStatus(status, address.hostname, headers["retry-after"]);
  if (told !== undefined) return { ok: false, message: told };
  if (body.length === 0)
    return { ok: false, message: `${address.hostname} answered with an empty page (${status}).` };
  const { mediaType, charset } = readType(headers["content-type"]);
  const found = { address: address.href, at };
  if (!isText(mediaType, body)) return { ok: true, kind: "file", file: { ...found, mediaType, data: body } };
  const order = { body, mediaType, address: address.href, whole, ...(charset !== undefined && { charset }) };
  const extraction = await extractor.extract(order, signal);
  if (!extraction.ok) return extraction;
  if (extraction.page.text.trim() === "") {
    const message = `${address.hostname} sent a page without text; it may be made by scripts, which do not run here.`;
    return { ok: false, message };
  }
  return { ok: true, kind: "text", page: { ...extraction.page, ...found } };
}

/** Why there is no page, by the answer's status (RFC 9110, 15; RFC 6585, 4); undefined where there may be one. */
function explainStatus(status: number, host: string, retryAfter: string | undefined): string | undefined {
  if (status === 204 || status === 205) return `${host} answered that there is no content (${status}).`;
  if (status >= 200 && status < 300) return undefined;
  const wait = /^\d{1,6}$/.test(retryAfter ?? "") ? ` for ${retryAfter} s` : "";
  if (status === 429) return `${host} asks to be left alone${wait} because it gets too many requests (429).`;
  if (status === 401 || status === 403 || status === 407) {
    return `${host} does not show this page without signing in, or not to programs (${status}).`;
  }
  if (status === 404 || status === 410) return `${host} has no page at this address (${status}).`;
  if (status >= 500)
    return `${host} has an error of its own (${status})${wait && `; it asks to wait${wait}`}.`;
  return `${host} answered with status ${status} and not with a page.`;
}

function readType(header = ""): { mediaType: string; charset: string | undefined } {
  const [mediaType = "", ...parameters] = header.split(";");
  const match = /charset\s*=\s*"?([^\s";]{1,60})/i.exec(parameters.join(";"));
  return { mediaType: mediaType.trim().toLowerCase(), charset: match?.[1] };
}

const textTypes =
  /^text\/|[/+](json|xml|yaml|x-yaml|javascript|x-javascript|ecmascript|toml|x-sh|x-ndjson|sql)$/;

/** By what it says that it is, and else by its beginning. */
function isText(mediaType: string, body: Buffer): boolean {
  if (body.toString("latin1", 0, 5) === "%PDF-") return false;
  if (textTypes.test(mediaType)) return true;
  const isUnsaid = mediaType === "" || mediaType === "application/octet-stream";
  return isUnsaid && !body.subarray(0, 8_192).includes(0);
}
