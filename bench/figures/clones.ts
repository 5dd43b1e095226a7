import { randomBytes } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openSetting, type Setting, token } from "../../tests/repositories/setting.ts";
import { type Effort, type Figure, type Findings, goal, ms, quantity } from "../figure.ts";
import { spread } from "../measure.ts";

/** Of random bytes, which git cannot pack smaller; the file is their base64. */
const randomPart = 7_500;
const fileBytes = 10_000;
/** As many as clones are kept for. */
const together = 4;

/** Copies the folder as `cp` does, which makes as many files of as many bytes, and prints the time in ms. */
const copyFolder = `
begun=$(date +%s%N)
cp -r shop copy
echo $(( ($(date +%s%N) - begun) / 1000000 ))
`;

/** What a thread waits for a large repository. */
export const clones: Figure = {
  id: "clones",
  title: "A thread's clone of a large repository",
  method:
    "`open_repository` in new threads: a repository of many files that cannot be compressed, from a git server on the loopback interface, through the thread's proxy into its sandbox. Without a mirror each thread fetches all of it; the first thread with one waits until the mirror is made; others copy it or, where a clone has been made ready since the last, are given that one, and ask the host what is new. Most of the time of a clone goes into making the files, so beside it stands what `cp -r` of the same folder takes, right after it in the same sandbox. Of several that clone at the same moment each waits for its own. A network would add its own time to the first two.",
  measure,
};

async function measure(effort: Effort): Promise<Findings> {
  const files = effort.pick(1_000, 20_000);
  const rounds = effort.pick(2, 5);
  const plain = await measureClones({ files, rounds, mirrorBytes: 0 });
  const [first, ...others] = await measureClones({ files, rounds: 2 * rounds + 1, mirrorBytes: 4e9 });
  const copied = others.filter((_, index) => index % 2 === 0);
  const given = others.filter((_, index) => index % 2 === 1);
  const atOnce = await measureTogether(files, rounds);
  const row = (name: string, samples: readonly Sample[]) => [
    name,
    ...[ms(spread(samples.map(({ clone }) => clone)).p50), ms(spread(samples.map(({ clone }) => clone)).max)],
    ms(spread(samples.map(({ copy }) => copy)).p50),
  ];
  const burstRow = (name: string, waited: readonly number[]) => [
    ...[name, ms(spread(waited).p50), ms(spread(waited).max), "–"],
  ];
  const copies = spread(copied.map(({ clone, copy }) => clone / copy)).p50;
  return {
    table: {
      columns: [
        `${files.toLocaleString("en")} files, ${quantity((files * fileBytes) / 1e6, "MB")}`,
        ...["p50", "slowest", "cp -r of the folder, p50"],
      ],
      rows: [
        row("without a mirror", plain),
        row("the first thread, which makes the mirror", first ? [first] : []),
        row("with a mirror", copied),
        row("with a mirror and a clone that is ready", given),
        burstRow(`${together} threads at once, one clone ready`, atOnce.first),
        burstRow(`${together} threads at once, from the second time on`, atOnce.later),
      ],
    },
    goals: [
      goal("a clone from the mirror, against cp -r of its folder, p50", copies, "×", { below: 3 }),
      goal("a clone that is ready, p50", spread(given.map(({ clone }) => clone)).p50, "ms", {
        below: 1_000,
      }),
    ],
  };
}

interface Sample {
  clone: number;
  copy: number;
}

/** What each of several threads waits that clone at the same moment, the first time and once clones are kept for them. */
async function measureTogether(files: number, rounds: number): Promise<Record<"first" | "later", number[]>> {
  const setting = await openSetting({ mirrorBytes: 4e9 });
  try {
    const url = addLarge(setting, files);
    const clone = async () => {
      const thread = await setting.thread({ settings: { url } });
      const startedAt = performance.now();
      const { status, text } = await thread.use("open_repository", { repository: "shop" });
      if (status !== "ok") throw new Error(text);
      return { id: thread.id, ms: performance.now() - startedAt };
    };
    const burst = async (count: number) => {
      const made = await Promise.all(Array.from({ length: count }, clone));
      const workspaces = await setting.backend.workspaces();
      for (const { id } of made) await workspaces.remove(id, Date.now());
      return made.map(({ ms: waited }) => waited);
    };
    await burst(1);
    await waitForReady(setting.dataDir, 1);
    const first = await burst(together);
    const later: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      await waitForReady(setting.dataDir, together);
      later.push(...(await burst(together)));
    }
    return { first, later };
  } finally {
    await setting.close();
  }
}

/** Gives its address. */
function addLarge({ github }: Setting, files: number): string {
  // Base64 of random bytes is compressed to the bytes that it stands for.
  const text = () => randomBytes(randomPart).toString("base64");
  github.addRepository(
    "acme/large",
    Object.fromEntries(Array.from({ length: files }, (_, index) => [`${index % 200}/${index}`, text()])),
  );
  github.addToken(token, ["acme/large"]);
  return `http://git.example:${github.port}/acme/large`;
}

async function measureClones({
  files,
  rounds,
  mirrorBytes,
}: {
  files: number;
  rounds: number;
  mirrorBytes: number;
}): Promise<Sample[]> {
  const setting = await openSetting({ mirrorBytes });
  try {
    const url = addLarge(setting, files);
    const samples: Sample[] = [];
    for (let round = 0; round < rounds; round += 1) {
      if (mirrorBytes > 0 && round > 0) await haveReady(setting.dataDir, round % 2 === 0);
      const { id, use, sh } = await setting.thread({ settings: { url } });
      const startedAt = performance.now();
      const { status, text: said } = await use("open_repository", { repository: "shop" });
      const clone = performance.now() - startedAt;
      if (status !== "ok") throw new Error(said);
      samples.push({ clone, copy: Number(await sh(copyFolder)) });
      await (await setting.backend.workspaces()).remove(id, Date.now());
    }
    return samples;
  } finally {
    await setting.close();
  }
}

/** Waits until a clone is ready, as when some time lies between two threads, and takes it away for those who copy. */
async function haveReady(dataDir: string, isWanted: boolean): Promise<void> {
  const [found] = await waitForReady(dataDir, 1);
  if (found !== undefined && !isWanted) rmSync(found, { recursive: true });
}

async function waitForReady(dataDir: string, count: number): Promise<string[]> {
  const root = join(dataDir, "mirrors");
  for (let left = 3_000; left > 0; left -= 1) {
    const found = list(root).flatMap((key) =>
      list(join(root, key)).flatMap((name) => (name.startsWith("ready-") ? [join(root, key, name)] : [])),
    );
    if (found.length >= count) return found;
    await sleep(100);
  }
  throw new Error(`${count} clones were not made ready`);
}

/** Folders come and go meanwhile, and some of the names are of files. */
function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
