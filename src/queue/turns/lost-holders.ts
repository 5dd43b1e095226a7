import type { Redis } from "ioredis";
import { z } from "zod";
import type { OpenCall } from "../../agent/journal/history.ts";
import { createStoredParser } from "../../agent/text/parse-stored.ts";
import { cutWords } from "../../agent/text/text.ts";
import type { ThreadId } from "../../chat/threads.ts";
import type { KillReport } from "../../sandbox/sandbox.ts";
import type { OutboxEntry } from "../outbox/contracts.ts";
import { keys } from "../redis/keys.ts";
import { readHeadField } from "../session/stored.ts";

/** Who holds a session, as whoever takes it over must know. */
export interface SessionHolder {
  /** A name that no other worker has. */
  id: string;
  /** What people know it by. */
  name: string;
  /** See `HostProcesses.place`. */
  place?: string | undefined;
  /** After so long without contact to Redis it ends what its turns run, s. */
  fenceSeconds: number;
}

/** A holder that lost the session in the middle of a turn: whoever took it over has noted it in the session's head. */
export interface LostHolder {
  field: LostField;
  /** When it was replaced, by Redis' clock, ms. */
  at: number;
  /** Absent for one of an earlier release, which names itself nowhere and ends nothing by itself. */
  holder?: (Pick<SessionHolder, "name" | "place" | "fenceSeconds"> & { id?: string | undefined }) | undefined;
  /** What it was in the middle of, as people may read it. Absent until that was read from the journal. */
  commands?: string[] | undefined;
  /** Whether people were told that its end is not known: they are to be told of it. */
  told?: boolean | undefined;
  /** Whether it has come back and seen that all has ended. A field of its own: whoever holds the session writes this one. */
  reported?: boolean | undefined;
}

export type LostField = `lost:${string}`;
type ReportField = `ended:${string}`;

function reportField(field: LostField): ReportField {
  return `ended:${field.slice("lost:".length)}`;
}

const parseLost = createStoredParser(
  z.looseObject({
    at: z.number(),
    holder: z
      .looseObject({
        id: z.string().optional(),
        name: z.string(),
        place: z.string().optional(),
        fenceSeconds: z.number(),
      })
      .optional(),
    commands: z.array(z.string()).optional(),
    told: z.boolean().optional(),
  }),
);

/** What ends by a clock may take so long to be gone, and two clocks may differ by so much in that time, ms. */
const marginMs = 5_000;

/** Nothing of a turn runs for so long, ms. */
const forgottenMs = 86_400_000;

/** When it has ended by the clock, ms by Redis' clock; undefined when no clock ends it. */
export function endsBy({ at, holder }: LostHolder): number | undefined {
  return holder && at + holder.fenceSeconds * 1_000 + marginMs;
}

/** The holders that the session has lost and of which it is not known yet that what they ran has ended. */
export function readLostHolders(
  redis: Redis,
  thread: ThreadId,
  head: Readonly<Record<string, string>>,
): LostHolder[] {
  return Object.entries(head).flatMap(([field, json]) => {
    if (!isLostField(field)) return [];
    const found = readHeadField(redis, thread, field, parseLost, json);
    return found ? [{ ...found, field, reported: isReported(head, field) }] : [];
  });
}

function isReported(head: Readonly<Record<string, string>>, field: LostField): boolean {
  return head[reportField(field)] === "1";
}

/** Takes note of what holders that were lost have reported since the head was read. */
export function hearReports(lost: readonly LostHolder[], head: Readonly<Record<string, string>>): void {
  for (const each of lost) each.reported = isReported(head, each.field);
}

/**
 * Reports that all has ended which a holder was lost with: called by that holder once it is back and has seen it dead.
 *
 * @returns whether somebody has not known it
 */
export async function reportEnds(
  redis: Redis,
  thread: ThreadId,
  isMeant: (lost: LostHolder) => boolean,
): Promise<boolean> {
  const fields = readLostHolders(redis, thread, await redis.hgetall(keys.head(thread)))
    .filter((lost) => !lost.reported && isMeant(lost))
    .map(({ field }) => field);
  if (fields.length === 0) return false;
  const head = keys.head(thread);
  await redis.hset(head, Object.fromEntries(fields.map((field) => [reportField(field), "1"])));
  // Meanwhile it may have become known otherwise, or the session may be gone: then nobody would take the report away.
  const stillAsked = await redis.hmget(head, ...fields);
  const late = fields.filter((_, index) => stillAsked[index] === null);
  if (late.length > 0) await redis.hdel(head, ...late.map(reportField));
  return late.length < fields.length;
}

/** What the head no more needs to say of holders of which all has ended. */
export function forgetLost(ended: readonly LostHolder[]): Record<LostField | ReportField, ""> {
  return Object.fromEntries(
    ended.flatMap(({ field }) => [field, reportField(field)]).map((field) => [field, ""]),
  );
}

function isLostField(field: string): field is LostField {
  return field.startsWith("lost:");
}

/**
 * Whether all that it ran has ended: it was seen dead, from here or by itself, or the clock has ended it.
 *
 * @param sight what was seen of the host at that place
 * @param now by Redis' clock, ms
 */
export function hasEnded(
  lost: LostHolder,
  sight: { place: string | undefined; report: KillReport | undefined },
  now: number,
): boolean {
  if (lost.reported || lost.commands?.length === 0) return true;
  const isSeen = sight.place !== undefined && lost.holder?.place === sight.place;
  if (isSeen && sight.report?.survivors === 0) return true;
  return now >= (endsBy(lost) ?? lost.at + forgottenMs);
}

/** Whether its worker was lost to a stop of background jobs, and not in the middle of a turn. */
export function isAboutJobs({ field }: LostHolder): boolean {
  return field.startsWith("lost:jobs-");
}

/** As the head keeps it. */
export function writeLost({ field, ...lost }: LostHolder): Record<LostField, string> {
  return { [field]: JSON.stringify({ ...lost, reported: undefined }) };
}

const commandCharacters = 80;

/** Calls in a few words. */
export function nameCalls(open: readonly OpenCall[]): string[] {
  return open
    .filter(({ started }) => started)
    .map(({ call: { name, input } }) => {
      const command = typeof input === "object" && input !== null && "command" in input ? input.command : "";
      const [line = ""] = typeof command === "string" ? command.trim().split("\n") : [];
      return cutWords(line || name, commandCharacters);
    });
}

/** What the model must know of a call whose end is not known. */
export function describeForModel(lost: LostHolder): string {
  const until = endsBy(lost);
  const end = until === undefined ? "" : ` until ${new Date(until).toISOString()} at the latest`;
  return `It is not known to have ended: it may still be running on ${nameHolder(lost)} and writing to the files of the workspace${end}.`;
}

function nameHolder({ holder }: LostHolder): string {
  return holder ? `worker ${holder.name}` : "an earlier worker";
}

/** Tells people, who were told that it was not known, that it has ended. */
export function tellEnded(lost: LostHolder): Record<string, OutboxEntry> {
  const { commands = [] } = lost;
  const what = commands.map((command) => `\`${command.replaceAll("`", "'")}\``).join(", ");
  const markdown = `✔️ What was not known to have ended on ${nameHolder(lost)} has ended: ${what || "its background jobs"}.`;
  return { [`ended:${lost.field}`]: { do: "post", message: { kind: "notice", markdown }, attempts: 0 } };
}

/** What people are told of it. */
export interface Unproven {
  where: string;
  commands: readonly string[];
  endsInMs?: number;
}

export function describeUnproven(lost: LostHolder, now: number): Unproven {
  const until = endsBy(lost);
  return {
    where: nameHolder(lost),
    commands: lost.commands ?? [],
    ...(until !== undefined && { endsInMs: Math.max(0, until - now) }),
  };
}
