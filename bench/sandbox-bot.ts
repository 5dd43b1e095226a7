/** A bot of a given size that starts commands: `node sandbox-bot.ts <data folder> <ballast MB> <rounds>`; tells its report over IPC. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createBubblewrapBackend } from "../src/sandbox/bubblewrap/backend.ts";
import { interleave, timed } from "./measure.ts";
import { createParts } from "./sandbox-parts.ts";

export interface SandboxReport {
  /** Resident memory of the bot, in bytes. */
  memory: number;
  /** From the start of `true` until its exit was known, ms. */
  plain: number[];
  /** By bubblewrap with all of its namespaces, and nothing of Heddle's. */
  bare: number[];
  /** By bubblewrap as Heddle starts it, and without some of it. */
  parts: [name: string, samples: number[]][];
  sandboxed: number[];
  /** The same for many starts at once: until the last end was known. */
  plainTogether: number[];
  sandboxedTogether: number[];
  /** From the call of `killAll` until it was proven that nothing is left, ms. */
  kill: number[];
  survivors: number;
}

export const together = 16;
const jobsKilled = 4;

const [dataDir = "", ballast = "0", rounds = "1"] = process.argv.slice(2);
// Filled, so that its pages are real.
const weight = Array.from({ length: Number(ballast) }, () => Buffer.alloc(1_000_000, 1));
const backend = createBubblewrapBackend({ dataDir });
const thread = "bench:sandbox:one:1";
const sandbox = await backend.open(thread);

const run = async (program: string, args: readonly string[]) => {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${program} ended with ${code}.`);
};
const command = ["/bin/bash", "-c", "true"];
const plain = () => run("/bin/bash", command.slice(1));
const places = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"];
const bare = () => run("bwrap", [...places, "--unshare-user", "--unshare-all", ...command]);
const sandboxed = async () => {
  const { end, problem } = await sandbox.exec({ command: "true" });
  if (end !== "exit") throw new Error(problem ?? `The command ended by ${end}.`);
};
const many = (start: () => Promise<void>) => Promise.all(Array.from({ length: together }, start));

let survivors = 0;
const kill = async () => {
  for (let job = 0; job < jobsKilled; job += 1) {
    const started = await sandbox.start({ command: "echo up; for i in 1 2 3; do sleep 600 & done; wait" });
    if (!started.ok) throw new Error(started.message);
    while ((await started.job.read(0, 10)).data.length === 0) await new Promise(setImmediate);
  }
  return timed(async () => {
    survivors += (await sandbox.killAll()).survivors;
  });
};

const samples = await interleave(
  [
    { name: "plain", run: async () => [await timed(plain)] },
    { name: "bare", run: async () => [await timed(bare)] },
    { name: "sandboxed", run: async () => [await timed(sandboxed)] },
  ],
  { rounds: Number(rounds), warmUp: 5 },
);
const parts = await interleave(await createParts(dataDir, thread), {
  rounds: Math.ceil(Number(rounds) / 2),
  warmUp: 2,
});
const few = Math.ceil(Number(rounds) / 10);
const parallel = await interleave(
  [
    { name: "plain", run: async () => [await timed(() => many(plain))] },
    { name: "sandboxed", run: async () => [await timed(() => many(sandboxed))] },
  ],
  { rounds: few, warmUp: 1 },
);
const kills = await interleave([{ name: "kill", run: async () => [await kill()] }], {
  rounds: few,
  warmUp: 1,
});

const report: SandboxReport = {
  memory: process.memoryUsage.rss(),
  plain: samples.get("plain") ?? [],
  bare: samples.get("bare") ?? [],
  parts: [...parts],
  sandboxed: samples.get("sandboxed") ?? [],
  plainTogether: parallel.get("plain") ?? [],
  sandboxedTogether: parallel.get("sandboxed") ?? [],
  kill: kills.get("kill") ?? [],
  survivors,
};
// Held until here.
weight.length = 0;
process.send?.(report);
await backend.close();
process.disconnect?.();
