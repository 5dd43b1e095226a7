import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Reply } from "./http.ts";

/** Below this, in bytes, an answer is a packet or two in any case. */
const leastBytes = 2_048;

/** Those that this server writes, the best first. On the threads of libuv: turns and streams go on meanwhile. */
const encodings = {
  br: (body: Buffer) =>
    promisify(brotliCompress)(body, {
      // Of the highest, which is the default, one answer of a megabyte takes seconds.
      params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_SIZE_HINT]: body.length },
    }),
  gzip: (body: Buffer) => promisify(gzip)(body),
};

/**
 * The same answer, compressed where it is JSON of some length and whoever asks takes that. Everything else stays as it
 * is: files of the page bring their compressed form along, files of threads are mostly compressed by themselves, and
 * streams, which are no {@link Reply}, must not wait for a block to fill.
 *
 * What somebody else writes stands beside what is nobody's business, which would tell a guess by its length (BREACH);
 * but no other site can ask for it, as requests with a foreign origin are refused and cookies do not go with them.
 *
 * @param accepted the request's `Accept-Encoding`
 */
export async function compressReply(reply: Reply, accepted: string | undefined): Promise<Reply> {
  if (reply.body === undefined || reply.headers?.["content-type"] !== "application/json") return reply;
  // Also with a short one: the next answer at the same address may be long.
  const headers = { ...reply.headers, vary: "accept-encoding" };
  const body = Buffer.from(reply.body);
  const encoding = body.length < leastBytes ? undefined : chooseEncoding(accepted ?? "", ["br", "gzip"]);
  if (!encoding) return { ...reply, headers };
  const packed = await encodings[encoding](body);
  return { ...reply, headers: { ...headers, "content-encoding": encoding }, body: packed };
}

/**
 * As RFC 9110, 12.5.3, weighs them; undefined where nothing is wanted that there is.
 *
 * @param accepted the request's `Accept-Encoding`
 * @param offered which there are, the best first
 */
export function chooseEncoding<Name extends string>(
  accepted: string,
  offered: readonly Name[],
): Name | undefined {
  const weights = new Map<string, number>();
  for (const part of accepted.toLowerCase().split(",")) {
    const [name = "", ...parameters] = part.split(";").map((one) => one.trim());
    const weight = parameters.find((one) => one.startsWith("q="))?.slice(2);
    // What cannot be read is not wanted.
    weights.set(name, weight === undefined ? 1 : Number(weight) || 0);
  }
  const weigh = (name: string) => weights.get(name) ?? weights.get("*") ?? 0;
  const [best] = offered.toSorted((a, b) => weigh(b) - weigh(a));
  const isWanted = best !== undefined && weigh(best) > 0 && weigh(best) >= (weights.get("identity") ?? 0);
  return isWanted ? best : undefined;
}
