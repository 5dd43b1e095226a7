import { randomBytes } from "node:crypto";
import { openSetting, token } from "../../tests/repositories/setting.ts";
import { type Effort, type Figure, type Findings, goal, ms, quantity } from "../figure.ts";
import { spread } from "../measure.ts";

const fileBytes = 10_500;

/** What a thread waits for a large repository. */
export const clones: Figure = {
  id: "clones",
  title: "A thread's clone of a large repository",
  method:
    "`open_repository` in new threads: a repository of many files that cannot be compressed, from a git server on the loopback interface, through the thread's proxy into its sandbox. Without a mirror each thread fetches all of it; the first thread with one waits until the mirror is made; the others copy it, and ask the host what is new. A network would add its own time to the first two.",
  measure,
};

async function measure(effort: Effort): Promise<Findings> {
  const files = effort.pick(1_000, 20_000);
  const rounds = effort.pick(2, 5);
  const plain = await measureClones({ files, rounds, mirrorBytes: 0 });
  const mirrored = await measureClones({ files, rounds: rounds + 1, mirrorBytes: 4e9 });
  const [first = Number.NaN, ...others] = mirrored;
  return {
    table: {
      columns: [
        `${files.toLocaleString("en")} files, ${quantity((files * fileBytes) / 1e6, "MB")}`,
        "p50",
        "slowest",
      ],
      rows: [
        ["without a mirror", ms(spread(plain).p50), ms(spread(plain).max)],
        ["the first thread, which makes the mirror", ms(first), ms(first)],
        ["with a mirror", ms(spread(others).p50), ms(spread(others).max)],
      ],
    },
    goals: [
      goal("a clone of 20,000 files and 210 MB from the mirror, p50", spread(others).p50, "ms", {
        below: 3_000,
      }),
    ],
  };
}

async function measureClones({
  files,
  rounds,
  mirrorBytes,
}: {
  files: number;
  rounds: number;
  mirrorBytes: number;
}): Promise<number[]> {
  const setting = await openSetting({ mirrorBytes });
  try {
    // Base64 of random bytes is compressed to the bytes that it stands for.
    const text = () => randomBytes(fileBytes).toString("base64");
    setting.github.addRepository(
      "acme/large",
      Object.fromEntries(Array.from({ length: files }, (_, index) => [`${index % 200}/${index}`, text()])),
    );
    setting.github.addToken(token, ["acme/large"]);
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const url = `http://git.example:${setting.github.port}/acme/large`;
      const { id, use } = await setting.thread({ settings: { url } });
      const startedAt = performance.now();
      const { status, text: said } = await use("open_repository", { repository: "shop" });
      times.push(performance.now() - startedAt);
      if (status !== "ok") throw new Error(said);
      await (await setting.backend.workspaces()).remove(id, Date.now());
    }
    return times;
  } finally {
    await setting.close();
  }
}
