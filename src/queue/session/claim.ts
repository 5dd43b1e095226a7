import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { z } from "zod";
import type { ThreadId } from "../../chat/threads.ts";
import { keys } from "../redis/keys.ts";
import { loadScript } from "../redis/script.ts";
import { expiringKeys } from "./expiry.ts";
import type { SessionLease } from "./lease.ts";
import { openLease } from "./open-lease.ts";
import { readHeadNumber, readStopOrder } from "./stored.ts";

const claimScript = loadScript(new URL("scripts/claim.lua", import.meta.url));

const strings = z.array(z.string());
/** A hash, as scripts return it: names and values in turn. */
const hash = strings.transform((pairs) =>
  Object.fromEntries(
    pairs.flatMap((name, index) => (index % 2 === 0 ? [[name, pairs[index + 1] ?? ""]] : [])),
  ),
);
/** See the header of claim.lua. */
const claimReply = z
  .tuple([z.int(), z.int(), hash, hash, z.string(), z.int(), z.string(), strings, z.literal([0, 1]), strings])
  .transform(([epoch, stuck, head, outbox, stop, length, snapshot, messages, isRead, records]) => ({
    ...{ epoch, stuck, head, outbox, stop },
    journal: {
      length,
      ...(snapshot && { snapshot: { description: snapshot, messages } }),
      ...(isRead && { records }),
    },
  }));

/** A journal of more records is read apart: a script holds up everybody else for as long as it runs. */
const mostClaimedRecords = 1_000;

/**
 * Claims a session: every later write of the earlier holder is refused.
 *
 * @param options.holder JSON of who claims it, for whoever takes it over; see turns/lost-holders.ts
 * @param options.expireSeconds see `touchSession`; without it the session expires as it did before
 *
 * @example
 * const lease = await claimSession(redis, "slack:T1:C1:1712.5");
 * const { taken } = await lease.take({ type: "turn-start", turn: "1", at: Date.now() });
 * await lease.append([record], { fields: { status: "idle" } }); // throws LeaseLost once somebody else has claimed it
 */
export async function claimSession(
  redis: Redis,
  thread: ThreadId,
  { expireSeconds, holder = "" }: { expireSeconds?: number; holder?: string } = {},
): Promise<SessionLease> {
  return toLease(redis, thread, await runClaim(redis, thread, { expireSeconds, holder }));
}

/**
 * Claims a session as `claimSession` does, unless another holder is in the middle of a turn there and has confirmed so
 * within `graceMs`: that its job was given to somebody else does not mean that it is dead.
 */
export async function tryClaimSession(
  redis: Redis,
  thread: ThreadId,
  options: { expireSeconds: number; holder: string; graceMs: number },
): Promise<SessionLease | undefined> {
  const reply = await runClaim(redis, thread, options);
  return reply === -1 ? undefined : toLease(redis, thread, reply);
}

/**
 * Claims a session as `claimSession` does, for somebody who runs nothing of it: unless a worker is at a turn there or died
 * in one, or something is left to be shown. A turn that was parked or handed over stays so.
 */
export async function claimUnheldSession(
  redis: Redis,
  thread: ThreadId,
  { expireSeconds }: { expireSeconds: number },
): Promise<SessionLease | undefined> {
  const reply = await runClaim(redis, thread, { expireSeconds, holder: "", onlyUnheld: true });
  return reply === -1 ? undefined : toLease(redis, thread, reply);
}

/** See the header of claim.lua. */
function runClaim(
  redis: Redis,
  thread: ThreadId,
  claim: { expireSeconds: number | undefined; holder: string; onlyUnheld?: boolean; graceMs?: number },
): Promise<unknown> {
  const { expireSeconds = "", holder, onlyUnheld = false, graceMs = "" } = claim;
  return claimScript.run(
    redis,
    [
      ...[keys.head, keys.log, keys.outbox, keys.stop, keys.snapshot].map((key) => key(thread)),
      ...expiringKeys(thread),
    ],
    [randomUUID(), expireSeconds, mostClaimedRecords, holder, onlyUnheld ? "1" : "0", graceMs],
  );
}

function toLease(redis: Redis, thread: ThreadId, reply: unknown): SessionLease {
  const { epoch, stuck, head, outbox, stop, journal } = claimReply.parse(reply);
  return openLease(redis, thread, {
    claim: { created: readHeadNumber(redis, thread, "created", head["created"]), epoch },
    claimsWithoutProgress: stuck,
    found: { head, outbox, stop: stop ? readStopOrder(redis, thread, stop) : undefined, journal },
  });
}
