import { execFileSync } from "node:child_process";
import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Goal, Table } from "./figure.ts";

/** One line of `history.jsonl`: what a whole run measured. */
const entrySchema = z.object({
  v: z.literal(1),
  /** Of package.json, and the commit that was measured. */
  version: z.string(),
  commit: z.string(),
  /** Of the commit, as ISO 8601. */
  committed: z.string(),
  processor: z.string(),
  node: z.string(),
  redis: z.string(),
  /** By the goal's words. */
  values: z.record(z.string(), z.number()),
});

export type HistoryEntry = z.infer<typeof entrySchema>;

const root = join(import.meta.dirname, "..");
const file = join(import.meta.dirname, "history.jsonl");

/** The newest run of another commit; undefined where none is on record. */
export async function lastEntry(): Promise<HistoryEntry | undefined> {
  const text = await readFile(file, "utf8").catch(() => "");
  const entries = text.split("\n").filter(Boolean);
  const { commit } = commitOf();
  return entries
    .map((line) => entrySchema.parse(JSON.parse(line)))
    .findLast((entry) => entry.commit !== commit);
}

/** Adds this run to the record. */
export async function keepEntry(
  goals: readonly Goal[],
  machine: Pick<HistoryEntry, "processor" | "node" | "redis">,
): Promise<void> {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(await readFile(join(root, "package.json"), "utf8")));
  const values = Object.fromEntries(
    goals.filter(({ value }) => Number.isFinite(value)).map(({ what, value }) => [what, round(value)]),
  );
  const entry: HistoryEntry = { v: 1, version, ...commitOf(), ...machine, values };
  await appendFile(file, `${JSON.stringify(entry)}\n`);
}

export function describeEntry({ version, commit, committed, processor, node, redis }: HistoryEntry): string {
  const day = committed.slice(0, 10);
  return `version ${version}, commit ${commit} of ${day} (${processor}, Node ${node}, Redis ${redis})`;
}

/** How each goal stands to the run on record: above 1 is more than then. */
export function changeTable(goals: readonly Goal[], last: HistoryEntry): Table {
  return {
    columns: ["", "then", "this run", "change"],
    rows: goals.map(({ what, value }) => {
      const then = last.values[what];
      const change = then === undefined || then === 0 ? "" : `${(value / then).toFixed(2)}×`;
      return [what, then === undefined ? "not measured" : String(then), String(round(value)), change];
    }),
  };
}

function round(value: number): number {
  return Number(value.toPrecision(4));
}

function commitOf(): Pick<HistoryEntry, "commit" | "committed"> {
  try {
    const said = execFileSync("git", ["log", "-1", "--format=%h %cI"], { cwd: root, encoding: "utf8" });
    const [commit = "", committed = ""] = said.trim().split(" ");
    return { commit, committed };
  } catch {
    // A copy of the files alone.
    return { commit: "unknown", committed: "unknown" };
  }
}
