import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { Tiktoken } from "js-tiktoken/lite";
import o200k from "js-tiktoken/ranks/o200k_base";
import { createTokenCounter } from "../../src/agent/context/tokens.ts";
import { type Effort, type Figure, type Findings, ms, reasonOf } from "../figure.ts";
import { interleave, spread, timed } from "../measure.ts";
import { peersFolder, providePeers } from "../peers.ts";

/** How fast the text of a request is counted. */
export const tokens: Figure = {
  id: "tokens",
  title: "Token counting",
  method:
    "Counting the o200k tokens of several texts with Heddle's counter, on first sight of a text and again (parts of a text recur in every conversation), with plain js-tiktoken, whose table Heddle uses, and with others; the counters are interleaved.",
  measure,
};

const first = "Heddle, first time";
const again = "Heddle, again";
const plain = "js-tiktoken";

async function measure(effort: Effort): Promise<Findings> {
  const missing: string[] = [];
  const encoder = new Tiktoken(o200k);
  const known = createTokenCounter();
  await known.load();
  const reference = (text: string) => encoder.encode(text, [], []).length;
  const others = await otherCounters(missing);
  const repeated = Object.entries({ [again]: known.count, [plain]: reference, ...others });
  const names = [first, ...repeated.map(([name]) => name)];

  const rows: string[][] = [];
  const wrong: string[] = [];
  for (const { name, text, exact } of samples(effort.pick(20_000, 500_000))) {
    const times = await interleave(
      [
        { name: first, run: () => firstTime(text) },
        ...repeated.map(([by, count]) => ({ name: by, run: async () => [await timed(() => count(text))] })),
      ],
      { rounds: effort.pick(1, 5), warmUp: 1 },
    );
    if (exact && known.count(text) !== reference(text)) wrong.push(name);
    const medians = names.map((by) => ms(spread(times.get(by) ?? []).p50));
    rows.push([name, known.count(text).toLocaleString("en"), ...medians]);
  }
  return {
    table: { columns: ["text", "tokens", ...names], rows },
    checks: [
      {
        rule: "Heddle's counts equal js-tiktoken's (except for runs of hundreds of letters, which it counts in slices)",
        holds: wrong.length === 0,
        seen: wrong.length === 0 ? "all such texts" : `not for ${wrong.join(", ")}`,
      },
    ],
    missing,
  };
}

async function firstTime(text: string): Promise<number[]> {
  const counter = createTokenCounter();
  await counter.load();
  return [await timed(() => counter.count(text))];
}

type Counters = Record<string, (text: string) => number>;

async function otherCounters(missing: string[]): Promise<Counters> {
  try {
    await providePeers();
    // By its path, because its packages may not be there when types are checked.
    const module = (await import(join(peersFolder, "tokenizers.ts"))) as { counters: Counters };
    return module.counters;
  } catch (error) {
    missing.push(`other tokenizers: ${reasonOf(error)}`);
    return {};
  }
}

/** @param size in bytes, about */
function samples(size: number): { name: string; text: string; exact: boolean }[] {
  const fill = (text: string, characters = size) =>
    text.repeat(Math.ceil(characters / text.length)).slice(0, characters);
  const words = Array.from({ length: 5_000 }, () => randomBytes(4).toString("base64url").toLowerCase());
  const prose = Array.from({ length: size / 7 }, (_, index) => words[(index * 7_919) % words.length]).join(
    " ",
  );
  const code = "export function add(left: number, right: number): number {\n  return left + right;\n}\n\n";
  const chinese =
    "我们在测试一个分词器的速度，看看它在中文文本上的表现如何。今天天气很好，大家都出去散步了。";
  const kilobytes = `${size / 1_000} KB`;
  return [
    { name: `prose of many words, ${kilobytes}`, text: prose, exact: true },
    { name: `code, ${kilobytes}`, text: fill(code), exact: true },
    { name: `Chinese, ${kilobytes}`, text: fill(chinese, size / 3), exact: true },
    { name: `base64, ${kilobytes}`, text: randomBytes(size * 0.75).toString("base64"), exact: true },
    // What js-tiktoken does takes time that grows with the square of this.
    { name: "one letter 2,000 times", text: "a".repeat(2_000), exact: false },
  ];
}
