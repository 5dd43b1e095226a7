import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { buildDeployed, copyClone } from "../../tests/e2e/installations.ts";
import { says } from "../../tests/fakes/anthropic-replies.ts";
import { type Effort, type Figure, type Findings, goal, ms } from "../figure.ts";
import { interleave, spread } from "../measure.ts";
import { serveThread, type ServedThread } from "../served-thread.ts";

const deployed = "as the package and the image start it";
const coldCache = "the same without the compile cache";
const clone = "from the sources of a clone";
const alone = "from the sources, with the demo model and a Redis of its own";
const byNpm = "npm start, with the demo model and a Redis of its own";

/** How long until the program is ready. */
export const start: Figure = {
  id: "start",
  title: "Start",
  method:
    "From the start of the process to “Heddle is ready”, including the sandbox probe; the variants are interleaved. With Slack, a model service and a Redis that is there already, except where stated. Package and image hold a bundle ([decision 61](decisions/0061-what-is-deployed-is-a-bundle.md)), a clone has none. Node keeps compiled code between starts, as it does for everybody, except where stated.",
  measure,
};

async function measure(effort: Effort): Promise<Findings> {
  await using served = await serveThread(() => says("Not asked."));
  const bundle = await buildDeployed();
  try {
    const { NODE_COMPILE_CACHE = "" } = served.environment;
    const copy = await copyClone(served.place.folder);
    const all = served.environment;
    const starts = {
      [deployed]: () => oneStart(served, all, bundle),
      [clone]: () => oneStart(served, all),
      [alone]: () => oneStart(served, { HEDDLE_MODEL: "demo", NODE_COMPILE_CACHE }),
      [byNpm]: () => oneNpmStart(copy),
      // Leaving the variable out would not do: programs that tests start have one of their own.
      ...(!effort.quick && {
        [coldCache]: () => oneStart(served, { ...all, NODE_DISABLE_COMPILE_CACHE: "1" }, bundle),
      }),
    };
    const samples = await interleave(
      Object.entries(starts).map(([name, run]) => ({ name, run: async () => [await run()] })),
      { rounds: effort.pick(2, 15), warmUp: 1 },
    );
    const spreads = [...samples].map(([name, values]) => ({ name, ...spread(values) }));
    const median = (of: string) => spreads.find(({ name }) => name === of)?.p50 ?? Number.NaN;
    return {
      table: {
        columns: ["", "starts", "p50", "max"],
        rows: spreads.map(({ name, count, p50, max }) => [name, String(count), ms(p50), ms(max)]),
      },
      goals: [
        goal("process start to ready, p50", median(deployed), "ms", { below: 600 }),
        goal("npm start to ready, p50", median(byNpm), "ms", { below: 900 }),
      ],
    };
  } finally {
    await rm(bundle, { recursive: true, force: true });
  }
}

async function oneStart(
  { place }: ServedThread,
  env: Record<string, string>,
  version?: string,
): Promise<number> {
  const startedAt = performance.now();
  const program = place.start(["start"], env, version);
  await program.line(/Heddle is ready/);
  const took = performance.now() - startedAt;
  program.signal("SIGTERM");
  await program.ended;
  return took;
}

/** As a newcomer does it, in the folder of the clone. */
async function oneNpmStart(folder: string): Promise<number> {
  const startedAt = performance.now();
  const { PATH = "" } = process.env;
  const npm = spawn("npm", ["start"], {
    cwd: folder,
    env: { PATH, HOME: folder, HEDDLE_MODEL: "demo", HEDDLE_PORT: "0", HEDDLE_LOG_LEVEL: "warn" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  // When everything that it has started has ended too.
  const ended = once(npm, "close");
  let isReady = false;
  for await (const line of createInterface({ input: npm.stdout })) {
    isReady = line.includes("Heddle is ready");
    if (isReady) break;
  }
  const took = performance.now() - startedAt;
  npm.kill();
  npm.stdout.resume();
  await ended;
  if (!isReady) throw new Error("npm start ended before Heddle was ready.");
  return took;
}
