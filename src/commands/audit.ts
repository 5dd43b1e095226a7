import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Redis } from "ioredis";
import { openRedis } from "../app/redis.ts";
import { type AuditFilter, createAuditFilter } from "../operations/installation/audit-filter.ts";
import type { Mask } from "../operations/excerpt.ts";
import { hasErrorCode } from "../sandbox/system-error.ts";
import type { AuditEntry, Link } from "../telemetry/audit/chain.ts";
import { withAuditLock } from "../telemetry/audit/files.ts";
import { readAuditKey } from "../telemetry/audit/key.ts";
import { readPeople } from "../telemetry/audit/people.ts";
import { type VerifyOptions, verifyLog } from "../telemetry/audit/verify.ts";
import { auditFolder } from "../telemetry/telemetry.ts";
import { createCommandContext, UsageError } from "./context.ts";
import { writeOutput } from "./output-file.ts";
import { stripControls } from "./run/terminal-view.ts";

export interface AuditOptions extends EntryOptions {
  anchor?: string;
  unkeyedUntil?: number;
  names?: true;
  json?: true;
}

/** Which entries are printed. Days are `2026-06-01`, in UTC; `until` is the last one. */
interface EntryOptions extends Omit<AuditFilter, "what" | "since" | "until"> {
  workspace?: string;
  event?: string;
  since?: string;
  until?: string;
}

/**
 * Verifies that the audit log is intact, prints it for people, or writes it as JSON lines. Each reads the log from
 * its first entry and proves it; exits with 1 where it is broken.
 */
export async function runAuditCommand(
  verb: "verify" | "show" | "export",
  file: string | undefined,
  values: AuditOptions,
): Promise<number> {
  const anchor = values.anchor === undefined ? undefined : parseAnchor(values.anchor);
  const days = { since: readDay("--since", values.since, 0), until: readDay("--until", values.until, 1) };
  const setup = await createCommandContext("warn");
  return await writeOutput(file, (out) => print(setup, { verb, anchor, days, values }, out));
}

interface Printing {
  verb: "verify" | "show" | "export";
  anchor: Link | undefined;
  days: { since: number | undefined; until: number | undefined };
  values: AuditOptions;
}

async function print(
  setup: Awaited<ReturnType<typeof createCommandContext>>,
  { verb, anchor, days, values }: Printing,
  out: Writable,
): Promise<number> {
  const { config } = setup;
  const options = {
    anchor,
    key: await readAuditKey(config.dataDir, config.environment.HEDDLE_AUDIT_KEY),
    unkeyedUntil: values.unkeyedUntil,
  };
  const server = await openRedis(config, setup.log, { adopts: false });
  const redis = server.connect();
  const log = { redis, folder: auditFolder(config), options };
  const people = await readPeople(redis);
  const isWanted = createEntryFilter(values, days, setup.masker.mask);
  const format = (sealed: AuditEntry, line: string): string => {
    if (verb === "verify") return "";
    const entry = people.open(sealed);
    if (!isWanted(entry)) return "";
    if (verb === "show" && values.json) return `${setup.masker.mask(JSON.stringify(entry))}\n`;
    if (verb === "show") return `${setup.masker.mask(stripControls(formatEntry(entry)))}\n`;
    return `${values.names ? JSON.stringify(entry) : line}\n`;
  };
  try {
    return await withAuditLock(log.redis, () => read(log, out, format, values.json));
  } catch (error) {
    // Whoever reads the output has seen enough, as in `heddle audit show | head`. Nothing was found to be broken so far.
    if (hasErrorCode(error, "EPIPE")) return 0;
    throw error;
  } finally {
    await server.close();
  }
}

async function read(
  { redis, folder, options }: { redis: Redis; folder: string; options: VerifyOptions },
  out: Writable,
  format: (entry: AuditEntry, line: string) => string,
  json: true | undefined,
): Promise<number> {
  let code = 1;
  const report = (sentence: string, facts: object) =>
    json ? process.stdout.write(`${JSON.stringify(facts)}\n`) : process.stderr.write(`${sentence}\n`);
  async function* lines(): AsyncGenerator<string> {
    for await (const next of verifyLog(redis, folder, options)) {
      switch (next.kind) {
        case "entry":
          yield format(next.entry, next.line);
          break;
        case "fault":
          report(`${next.fault} The entries up to ${next.link.n} are sound.`, {
            ...{ intact: false, fault: next.fault, soundUntil: next.link.n },
          });
          break;
        case "whole":
          report(
            `The audit log is intact: ${next.link.n} entries. ${sayKeyed(next.keyedFrom)}. Head ${anchorOf(next.link)}`,
            {
              intact: true,
              entries: next.link.n,
              keyedFrom: next.keyedFrom ?? null,
              head: anchorOf(next.link),
            },
          );
          code = 0;
          break;
      }
    }
  }
  await pipeline(lines, out, { end: out !== process.stdout });
  return code;
}

function sayKeyed(from: number | undefined): string {
  return from === undefined ? "None is keyed" : `Keyed from entry ${from} on`;
}

const anchorOf = ({ n, hash }: Link) => `${n}:${hash}`;

function parseAnchor(text: string): Link {
  const [, n, hash] = /^(\d+):([0-9a-f]{64})$/.exec(text) ?? [];
  if (!n || !hash) {
    throw new UsageError(`--anchor ${text}: expected <n>:<hash>, as heddle audit verify prints its head.`);
  }
  return { n: Number(n), hash };
}

function createEntryFilter(
  { event, workspace, since: _since, until: _until, ...values }: EntryOptions,
  days: Pick<AuditFilter, "since" | "until">,
  mask: Mask,
): (entry: AuditEntry) => boolean {
  const isWanted = createAuditFilter({ ...values, ...days, what: event }, mask);
  return (entry) => (workspace === undefined || isIn(workspace, entry)) && isWanted(entry);
}

function isIn(wanted: string, entry: AuditEntry): boolean {
  const { thread, workspace } = { thread: "", workspace: "", ...entry };
  return workspace === wanted || thread.startsWith(`${wanted}:`);
}

/** The beginning of the day so many days after the one that is named, ms since the epoch. */
function readDay(option: string, day: string | undefined, after: number): number | undefined {
  if (day === undefined) return undefined;
  const at = new Date(`${day}T00:00:00Z`);
  // A 30 February is the 2 March to `Date`.
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(day) && at.toJSON()?.startsWith(day);
  if (!isDay) throw new UsageError(`${option} ${day}: expected a day as 2026-06-01.`);
  return at.setUTCDate(at.getUTCDate() + after);
}

/** One line for people: when, what, where, and the rest as it is. */
function formatEntry(entry: AuditEntry): string {
  const { n, at, what, before: _before, hash: _hash, key: _key, mac: _mac, ...rest } = entry;
  return `${String(n).padStart(6)}  ${new Date(at).toISOString()}  ${what.padEnd(10)}  ${JSON.stringify(rest)}`;
}
