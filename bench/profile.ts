/** `npm run profile`: where steps, mentions, many threads and a start spend their time. `--only part,part`, `--out file`. */
import { writeFile } from "node:fs/promises";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { reasonOf } from "./figure.ts";
import { profileMention } from "./profile/mention.ts";
import type { Section } from "./profile/section.ts";
import { profileStart } from "./profile/start.ts";
import { profileSteps } from "./profile/step.ts";
import { profileThreads } from "./profile/threads.ts";
import { machine, markdownTable, terminalTable } from "./report.ts";

const parts: Readonly<Record<string, () => Promise<Section[]>>> = {
  step: profileSteps,
  mention: async () => [await profileMention()],
  threads: async () => [await profileThreads()],
  start: async () => [await profileStart()],
};

const { values } = parseArgs({ options: { only: { type: "string" }, out: { type: "string" } } });
const wanted = values.only?.split(",") ?? Object.keys(parts);
// A part must not take the place of the published whole.
const out = values.out ?? (values.only ? undefined : join(import.meta.dirname, "../docs/profile.md"));

const loadBefore = loadavg()[0] ?? 0;
const sections: Section[] = [];
const missing: string[] = [];
for (const name of wanted) {
  const part = parts[name];
  if (!part) {
    process.stderr.write(`--only ${name}: expected some of ${Object.keys(parts).join(", ")}.\n`);
    process.exit(2);
  }
  try {
    for (const section of await part()) {
      sections.push(section);
      missing.push(...(section.missing ?? []));
      process.stdout.write(`${terminalSection(section)}\n`);
    }
  } catch (error) {
    missing.push(`${name}: ${reasonOf(error)}`);
    process.exitCode = 1;
  }
}
for (const text of missing) process.stderr.write(`Not measured: ${text}\n`);
if (out) await writeFile(out, page());

function terminalSection({ title, tables }: Section): string {
  return [title, ...tables.map(({ caption, table }) => `  ${caption}\n${terminalTable(table)}\n`)].join("\n");
}

function page(): string {
  return [
    "# Where the time goes",
    "Written by `npm run profile`; do not edit. Processor time is what the kernel counted for the main thread, shared out by V8's profiler at 5,000 samples a second; allocations are what its sampling heap profiler saw, collected garbage included. Both slow down what they look at: read shares, compare the same row between two runs, and take times from [benchmarks.md](benchmarks.md).",
    `The machine had a load of ${loadBefore.toFixed(1)} on ${availableParallelism()} processors when this began. Waiting for a processor is not counted, but shared caches and processors make everything slower under load.`,
    markdownTable(machine()),
    ...(missing.length > 0 ? ["## Not measured", missing.map((part) => `- ${part}`).join("\n")] : []),
    ...sections.flatMap(({ title, method, tables }) => [
      `## ${title}`,
      method,
      ...tables.flatMap(({ caption, table }) => [caption, markdownTable(table)]),
    ]),
  ]
    .join("\n\n")
    .concat("\n");
}
