/**
 * `npm run bench:scale`: what a gateway, 1 to 8 workers and Redis carry as processes of their own, and where the first
 * limit is; writes the capacity table of docs/operations.md in some 20 minutes. `--quick` takes two and writes nothing.
 */
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { publishFigures } from "../scripts/publish-figures.ts";
import { runs, says } from "../tests/fakes/anthropic-replies.ts";
import type { Table } from "./figure.ts";
import { machineNames, markdownTable, terminalTable } from "./report.ts";
import { openDeployment } from "./scale/deployment.ts";
import { keepBusy, type LoadResult, paceLoad } from "./scale/load.ts";

const { values } = parseArgs({ options: { quick: { type: "boolean", default: false } } });
const { quick } = values;

/** What a model takes for a short answer, ms. */
const modelMs = 5_000;
const perMinute = 1_000;
/** Text turns wait for their model, so a worker takes many; those with commands need the cores. */
const slots = { text: 100, commands: 8 };

const thinkThenSay = async () => {
  await delay(modelMs);
  return says("The answer.");
};

async function measureText(workers: number, count: number): Promise<LoadResult> {
  const options = { workers, slotsOfWorker: slots.text, isCluster: false, reply: thinkThenSay };
  await using deployment = await openDeployment(options);
  return await paceLoad(deployment, { perMinute, count });
}

async function measureCommands(workers: number, count: number): Promise<LoadResult> {
  await using deployment = await openDeployment({
    ...{ workers, slotsOfWorker: slots.commands, isCluster: false },
    reply: async (said) => (said.includes("tool_result") ? says("The answer.") : runs("echo working")),
  });
  return await keepBusy(deployment, { atOnce: workers * slots.commands, count });
}

async function measureCluster(count: number): Promise<LoadResult> {
  const options = { workers: 2, slotsOfWorker: slots.text, isCluster: true, reply: thinkThenSay };
  await using deployment = await openDeployment(options);
  return await paceLoad(deployment, { perMinute, count });
}

const text: [number, LoadResult][] = [];
for (const workers of quick ? [2] : [1, 4, 8])
  text.push([workers, await measureText(workers, quick ? 100 : 1_000)]);
// Ten minutes in which every message begins a thread of its own.
if (!quick) text.splice(1, 0, [2, await measureText(2, 10_000)]);
const commands: [number, LoadResult][] = [];
for (const workers of quick ? [2] : [1, 2, 4, 8])
  commands.push([workers, await measureCommands(workers, quick ? 50 : 400)]);
const cluster = await measureCluster(quick ? 100 : 1_000);

const ms = (value: number) => `${Math.round(value)} ms`;
const cores = (value: number) => value.toFixed(2);
const rate = (value: number) => Math.round(value).toLocaleString("en-US");
const sum = (list: readonly number[]) => list.reduce((total, value) => total + value, 0);

const textTable: Table = {
  columns: [
    ...["workers", "threads", "exactly one answer", "to the model, p50", "p95", "to the thread, p50", "p95"],
    ...["gateway, cores", "workers, cores", "Redis, cores", "Redis commands/s", "Redis, kB a thread"],
  ],
  rows: text.map(([workers, result]) => [
    ...[String(workers), rate(result.answered.length), rate(result.answered.length - result.wrong)],
    ...[ms(result.start.p50), ms(result.start.p95), ms(result.end.p50), ms(result.end.p95)],
    ...[cores(result.gatewayCores), cores(result.workerCores), cores(sum(result.redisCores))],
    ...[rate(sum(result.redisCommands)), (result.redisBytes / result.answered.length / 1_000).toFixed(1)],
  ]),
};
const commandTable: Table = {
  columns: ["workers", "turns", "turns/s", "gateway, cores", "workers and sandboxes, cores", "Redis, cores"],
  rows: commands.map(([workers, result]) => [
    ...[String(workers), rate(result.answered.length), (result.answered.length / result.seconds).toFixed(1)],
    ...[cores(result.gatewayCores), cores(result.workerCores), cores(sum(result.redisCores))],
  ]),
};
const clusterTable: Table = {
  columns: ["primary", "keys", "commands/s", "cores"],
  rows: cluster.redisKeys.map((keys, at) => [
    ...[String(at + 1), rate(keys), rate(cluster.redisCommands[at] ?? 0), cores(cluster.redisCores[at] ?? 0)],
  ]),
};

for (const table of [textTable, commandTable, clusterTable])
  process.stdout.write(`${terminalTable(table)}\n\n`);
const wrong = sum([...text, ...commands].map(([, result]) => result.wrong)) + cluster.wrong;
const { processor, node, redis } = machineNames();
if (!quick) {
  publishFigures(
    "operations.md",
    "capacity",
    [
      `On ${processor}, which the model's stand-in and the senders share; Node ${node}, Redis ${redis}, ${new Date().toISOString().slice(0, 10)}.`,
      `Text: ${rate(perMinute)} messages a minute at an even pace, each in a thread of its own; the model takes ${modelMs / 1_000} s. The times are Heddle's own: from the request to the gateway to the model's first request, and from the model's last word to the answer in the thread.`,
      markdownTable(textTable),
      `Commands: as many turns at a time as all workers have slots (${slots.commands} each), with one command in a sandbox and a model that answers at once.`,
      markdownTable(commandTable),
      `Three primaries, two workers, ${rate(perMinute)} messages of text a minute; ${rate(cluster.answered.length - cluster.wrong)} of ${rate(cluster.answered.length)} threads got exactly one answer:`,
      markdownTable(clusterTable),
    ].join("\n\n"),
  );
}
if (wrong > 0) {
  process.stderr.write(`${wrong} threads did not get exactly one answer.\n`);
  process.exitCode = 1;
}
