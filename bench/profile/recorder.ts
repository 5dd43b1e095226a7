/**
 * Loaded into the program with `--import`. The first SIGUSR2 begins a recording, the next one ends it and writes it to
 * `BENCH_RECORDINGS`, whose file is printed as `recording <number> <file>`. With `BENCH_RECORD=start` the first one
 * begins with the process.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beginRecording, type EndRecording } from "./recording.ts";

const folder = process.env["BENCH_RECORDINGS"] ?? "";
let recording: Promise<EndRecording> | undefined =
  process.env["BENCH_RECORD"] === "start" ? beginRecording() : undefined;
let count = 0;

process.on("SIGUSR2", () => void next());

async function next(): Promise<void> {
  count += 1;
  if (!recording) {
    recording = beginRecording();
    await recording;
    process.stdout.write(`recording ${count} begun\n`);
    return;
  }
  const end = recording;
  recording = undefined;
  const file = join(folder, `${process.pid}-${count}.json`);
  writeFileSync(file, JSON.stringify(await (await end)()));
  process.stdout.write(`recording ${count} ${file}\n`);
}
