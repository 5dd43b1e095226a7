/** Writes the figures of the last whole run of the fault suite into docs/reliability.md. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { publishFigures } from "../../scripts/publish-figures.ts";
import type { Figures } from "./figures.ts";

type Note = { [Kind in keyof Figures]: { kind: Kind } & Figures[Kind] }[keyof Figures];

const words: Record<string, string> = {
  seed: "seed",
  seconds: "seconds",
  messages: "messages sent",
  threads: "threads",
  answered: "answered",
  stopped: "stopped",
  withdrawn: "withdrawn by a stop",
  paused: "told that a limit ended their turn",
  failed: "reported as failed",
  calls: "tool calls that took effect",
  repeats: "posts marked as a possible repeat",
  kills: "processes killed (SIGKILL)",
  spawnerKills: "processes that start a worker's commands killed (SIGKILL)",
  freezes: "processes frozen for longer than their lock (SIGSTOP)",
  handovers: "processes sent SIGTERM",
  medianHandoverMs: "handover until exit, median, ms",
  slowestHandoverMs: "handover until exit, slowest, ms",
  partitions: "processes cut off from Redis",
  silences: "processes whose connections to Redis went silent",
  redisKills: "Redis kills",
  redisHangs: "Redis hangs (SIGSTOP)",
  claims: "results and receipts that say that something has ended",
  unknown: "those that say that it is not known",
  falseClaims: "those after which it still wrote",
  slackFaults: "Slack calls rate-limited, failed or lost",
  settledMs: "last message until everything had settled, ms",
};

const file = process.env["HEDDLE_FAULT_FIGURES"];
if (!file) throw new Error("HEDDLE_FAULT_FIGURES names no file: run this through npm run test:faults.");
const notes = readFileSync(file, "utf8")
  .split("\n")
  .filter(Boolean)
  // Written by `note` alone.
  .map((line) => JSON.parse(line) as Note);

publishFigures("reliability.md", "figures", figures(notes));

function figures(all: readonly Note[]): string {
  const kills = all.filter((entry) => entry.kind === "kill");
  const handovers = all.filter((entry) => entry.kind === "handover");
  const storms = all.filter((entry) => entry.kind === "storm");
  const recovery = spread(kills.map(({ ms }) => ms));
  const gone = spread(handovers.map(({ ms }) => ms));
  const resumed = spread(handovers.map(({ resumedMs }) => resumedMs));
  const inSeconds = (ms: number) => (ms / 1_000).toFixed(1);
  const points = new Set(kills.map(({ point }) => point.split(":")[0]));
  return [
    `${new Date().toISOString().slice(0, 10)}, ${versions()}, ${process.platform} ${process.arch}.`,
    `**One by one**: ${kills.length} kills at ${points.size} named points, nothing lost or repeated. From the kill until everything had settled, including the start of the next process: median ${inSeconds(recovery.median)} s, longest ${inSeconds(recovery.longest)} s; several run at once and share the machine.`,
    `**Handover**: ${handovers.length} workers got SIGTERM in the middle of a command. They exited within ${gone.median} ms (median) and ${gone.longest} ms (longest), and the next worker ran the next command after ${resumed.median} and ${resumed.longest} ms.`,
    ...all.filter((entry) => entry.kind === "embedded").map(embedded),
    ...all.filter((entry) => entry.kind === "embedded-server").map(embeddedServer),
    ...all.filter((entry) => entry.kind === "embedded-memory").map(embeddedMemory),
    ...webhooks(all),
    ...storms.map(storm),
  ].join("\n\n");
}

function embedded({ cycles, sent, answered, marks, twice }: Extract<Note, { kind: "embedded" }>): string {
  return `**Embedded Redis**: the whole program killed ${cycles} times in the middle of turns: ${answered} of ${sent} messages answered, ${twice} of ${marks} lines of tool calls written twice.`;
}

function embeddedServer({ turns, storedMB, grown }: Extract<Note, { kind: "embedded-server" }>): string {
  return `**The embedded Redis alone**: what ${turns} turns write made its process grow by ${grown} MB for ${storedMB} MB stored.`;
}

function embeddedMemory({ turns, before, grown }: Extract<Note, { kind: "embedded-memory" }>): string {
  return `**The whole program's memory**: with the embedded Redis, ${turns} turns made its processes grow by ${grown} MB, from ${before} MB.`;
}

function webhooks(all: readonly Note[]): string[] {
  const runs = all.filter((entry) => entry.kind === "webhooks");
  const kills = all.filter((entry) => entry.kind === "webhook-kill");
  const points = new Set(kills.map(({ point }) => point.split(":")[0]));
  return runs.map(
    ({ sent, turns }) =>
      `**Webhooks**: one delivery sent ${sent} times at two processes began ${turns} ${turns === 1 ? "turn" : "turns"}. A gateway was killed ${kills.length} times, at ${points.size} points from the request's arrival to after its answer; each delivery was sent again and began one turn.`,
  );
}

function spread(values: readonly number[]): { median: number; longest: number } {
  const sorted = values.toSorted((a, b) => a - b);
  return { median: sorted[Math.floor((sorted.length - 1) / 2)] ?? 0, longest: sorted.at(-1) ?? 0 };
}

function storm(run: Extract<Note, { kind: "storm" }>): string {
  const measured = Object.entries(run).filter(([name]) => name !== "kind");
  const rows = measured.map(([name, value]) => `| ${words[name] ?? name} | ${value} |`);
  return ["**At random**", "", "| | |", "| --- | --- |", ...rows].join("\n");
}

function versions(): string {
  const redis = /v=([\d.]+)/.exec(execFileSync("redis-server", ["--version"], { encoding: "utf8" }))?.[1];
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8")) as {
    version: string;
  };
  return `Heddle ${version}, Node ${process.versions.node}, Redis ${redis}`;
}
