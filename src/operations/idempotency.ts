import type { Redis } from "ioredis";
import { z } from "zod";
import { digest } from "./digest.ts";
import { createStoredParser } from "../agent/text/parse-stored.ts";
import { keys } from "../queue/redis/keys.ts";

/** No longer than intake knows which messages it has taken, ms. */
const keptForMs = 24 * 60 * 60 * 1000;

const parseClaim = createStoredParser(z.looseObject({ request: z.string() }));

/** What a request with an `Idempotency-Key` goes by. */
export interface IdempotentRequest {
  /** Id of whoever sends it: keys of two people have nothing to do with each other. */
  person: string;
  key: string;
  /** Method, address and body. */
  request: string;
}

/**
 * Whether the key stands for this request: it is new, or came with the same one in the last day, to whichever gateway.
 * What is done for it has to go by {@link idempotentId}, so that doing it twice does it once.
 */
export async function claimKey(redis: Redis, { person, key, request }: IdempotentRequest): Promise<boolean> {
  const place = keys.idempotent(idempotentId(person, key));
  const claim = digest(request);
  const value = JSON.stringify({ v: 1, request: claim });
  // Set and read in one, so that of two gateways only one is the first: https://redis.io/docs/latest/commands/set/
  const before = await redis.set(place, value, "PX", keptForMs, "NX", "GET");
  if (before === null) return true;
  const parsed = parseClaim(before);
  return parsed.ok && parsed.value.request === claim;
}

/** The same for every attempt with that key by that person: 32 of `0-9 a-f`. */
export function idempotentId(person: string, key: string): string {
  return digest(`${person}\0${key}`).slice(0, 32);
}
