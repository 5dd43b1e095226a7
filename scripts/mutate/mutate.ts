/**
 * `npm run mutate -- src/queue/stops.ts src/queue/scripts`: changes the sources in small ways, one at a time and in a
 * copy of the tree, runs the tests that reach them, and lists the changes that none of them notices. Such a change is
 * either equivalent (nobody can see a difference) or a test that is missing. `file.ts:12` means that line only.
 *
 * --most n       so many changes of each file (20), chosen by --seed n (1)
 * --near         only with the tests closest to a file: much quicker, and more survive
 * --list         only lists the changes
 * --through "…"  a command that each run of the tests is started with, such as "flock file"
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { luaMutants } from "./lua-mutants.ts";
import { applyMutant, describeMutant, lineOf, type Mutant, sample } from "./mutant.ts";
import { createTestMap, type MappedTests } from "./nearest-tests.ts";
import { createTestRunner, type TestRunner } from "./test-run.ts";
import { copyTree, type TreeCopy } from "./tree-copy.ts";
import { typescriptMutants } from "./typescript-mutants.ts";

/** One source file, with what is to be tried on it. */
interface Target {
  file: string;
  source: string;
  mutants: Mutant[];
  tests: MappedTests;
}

/** A test file that takes no longer than this is run before the others, ms. */
const quickMs = 2_500;

/** What a run may take: so many times what it takes without a change, and the start of vitest on a busy machine. */
const patience = { times: 3, ms: 20_000 };

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    most: { type: "string", default: "20" },
    seed: { type: "string", default: "1" },
    through: { type: "string", default: "" },
    near: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
  },
});
if (positionals.length === 0) {
  console.error(
    "Usage: npm run mutate -- [--most 20] [--seed 1] [--near] [--list] [--through 'flock file'] src/file.ts[:line] src/folder …",
  );
  process.exit(2);
}

const copy = copyTree(process.cwd());
const runner = createTestRunner(copy.folder, options.through.split(" ").filter(Boolean));
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    runner.stop();
    copy.remove();
    process.kill(process.pid, signal);
  });
}
try {
  const targets = targetsOf(copy);
  if (options.list) {
    for (const { file, source, mutants } of targets)
      for (const mutant of mutants) console.log(`${file}:${describeMutant(source, mutant)}`);
  } else await tryAll(targets);
} finally {
  copy.remove();
}

function targetsOf({ folder, files }: TreeCopy): Target[] {
  const testsOf = createTestMap(folder, files);
  return positionals.flatMap((positional) => {
    const [path = "", line] = positional.split(":");
    const sources = files.filter(
      (file) => (file === path || file.startsWith(`${path}/`)) && /\.(ts|lua)$/.test(file),
    );
    if (sources.length === 0) throw new Error(`${path} is no TypeScript or Lua file of the repository.`);
    return sources.map((file) => {
      const source = readFileSync(join(folder, file), "utf8");
      const all = (file.endsWith(".lua") ? luaMutants : typescriptMutants)(source).filter(
        (mutant) => line === undefined || lineOf(source, mutant) === Number(line),
      );
      return {
        file,
        source,
        mutants: sample(all, Number(options.most), Number(options.seed)),
        tests: options.near ? { ...testsOf(file), far: [] } : testsOf(file),
      };
    });
  });
}

async function tryAll(targets: readonly Target[]): Promise<void> {
  const files = new Set(targets.flatMap(({ tests }) => [...tests.near, ...tests.far]));
  const took = files.size > 0 ? await runner.measure([...files]) : new Map<string, number>();
  const survivors: string[] = [];
  let tried = 0;
  for (const { file, source, mutants, tests } of targets) {
    let killed = 0;
    for (const mutant of mutants) {
      const change = `${file}:${describeMutant(source, mutant)}`;
      copy.write(file, applyMutant(source, mutant));
      const isKilled = await isNoticed(runner, tests, took);
      copy.write(file, source);
      console.log(`${isKilled ? "killed  " : "SURVIVED"} ${change}`);
      if (isKilled) killed += 1;
      else survivors.push(change);
    }
    tried += mutants.length;
    console.log(`${file}: ${killed} of ${mutants.length} killed\n`);
  }
  const percent = tried === 0 ? 100 : Math.round(((tried - survivors.length) / tried) * 100);
  console.log(
    [...survivors.map((change) => `survived: ${change}`), `${percent} % of ${tried} killed`].join("\n"),
  );
}

/** The quick tests next to it, the other ones next to it, those farther off: most are noticed by the first. */
async function isNoticed(
  tests: TestRunner,
  { near, far }: MappedTests,
  took: ReadonlyMap<string, number>,
): Promise<boolean> {
  const timeOf = (test: string) => took.get(test) ?? 0;
  const stages = [
    near.filter((test) => timeOf(test) <= quickMs),
    near.filter((test) => timeOf(test) > quickMs),
    far,
  ];
  for (const stage of stages) {
    if (stage.length === 0) continue;
    const usual = stage.reduce((sum, test) => sum + timeOf(test), 0);
    if (!(await tests.passes(stage, patience.times * usual + patience.ms))) return true;
  }
  return false;
}
