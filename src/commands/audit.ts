import { open } from "node:fs/promises";
import { resolve } from "node:path";
import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { parseArgs } from "node:util";
import type { Redis } from "ioredis";
import { openRedis } from "../app/redis.ts";
import { hasErrorCode } from "../sandbox/system-error.ts";
import type { AuditEntry, Link } from "../telemetry/audit/chain.ts";
import { verifyLog, withAuditLock } from "../telemetry/audit/files.ts";
import { auditFolder } from "../telemetry/telemetry.ts";
import { createCommandContext, UsageError } from "./context.ts";
import { stripControls } from "./run/terminal-view.ts";

const usage =
  "Usage: heddle audit verify [--anchor <n>:<hash>] | show [--thread <thread>] | export [file.jsonl] [--thread <thread>].";

/**
 * Verifies that the audit log is intact, prints it for people, or writes it as JSON lines. Each reads the log from
 * its first entry and proves it; exits with 1 where it is broken.
 */
export async function command(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { anchor: { type: "string" }, thread: { type: "string" } },
  });
  const [verb, file, ...rest] = positionals;
  const known = verb === "verify" || verb === "show" || verb === "export";
  if (!known || rest.length > 0 || (file !== undefined && verb !== "export")) throw new UsageError(usage);
  const anchor = values.anchor === undefined ? undefined : parseAnchor(values.anchor);

  const setup = await createCommandContext("warn");
  const out = file === undefined ? process.stdout : await writerOf(resolve(file));
  const server = await openRedis(setup.config, setup.log);
  const log = { redis: server.connect(), folder: auditFolder(setup.config), anchor };
  const print = (entry: AuditEntry, line: string): string => {
    if (verb === "verify" || (values.thread !== undefined && !concerns(entry, values.thread))) return "";
    return `${verb === "show" ? setup.masker.mask(stripControls(shown(entry))) : line}\n`;
  };
  try {
    return await withAuditLock(log.redis, () => read(log, out, print));
  } catch (error) {
    // Whoever reads the output has seen enough, as in `heddle audit show | head`.
    if (hasErrorCode(error, "EPIPE")) return 1;
    throw error;
  } finally {
    await server.close();
  }
}

async function writerOf(path: string): Promise<Writable> {
  try {
    return (await open(path, "w", 0o600)).createWriteStream();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`The log cannot be written to ${path} (${why}): name another file.`);
  }
}

async function read(
  { redis, folder, anchor }: { redis: Redis; folder: string; anchor: Link | undefined },
  out: Writable,
  print: (entry: AuditEntry, line: string) => string,
): Promise<number> {
  let code = 1;
  async function* lines(): AsyncGenerator<string> {
    for await (const next of verifyLog(redis, folder, anchor)) {
      switch (next.kind) {
        case "entry":
          yield print(next.entry, next.line);
          break;
        case "fault":
          process.stderr.write(`${next.fault} The entries up to ${next.link.n} are sound.\n`);
          break;
        case "whole":
          process.stderr.write(
            `The audit log is intact: ${next.link.n} entries. Head ${anchorOf(next.link)}\n`,
          );
          code = 0;
          break;
      }
    }
  }
  await pipeline(lines, out, { end: out !== process.stdout });
  return code;
}

const anchorOf = ({ n, hash }: Link) => `${n}:${hash}`;

function parseAnchor(text: string): Link {
  const [, n, hash] = /^(\d+):([0-9a-f]{64})$/.exec(text) ?? [];
  if (!n || !hash) {
    throw new UsageError(`--anchor ${text}: expected <n>:<hash>, as heddle audit verify prints its head.`);
  }
  return { n: Number(n), hash };
}

function concerns(entry: AuditEntry, thread: string): boolean {
  return "thread" in entry && entry.thread === thread;
}

/** One line for people: when, what, where, and the rest as it is. */
function shown(entry: AuditEntry): string {
  const { n, at, what, before: _before, hash: _hash, ...rest } = entry;
  return `${String(n).padStart(6)}  ${new Date(at).toISOString()}  ${what.padEnd(10)}  ${JSON.stringify(rest)}`;
}
