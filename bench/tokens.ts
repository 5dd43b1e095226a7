/** Speed of the token counter: `node bench/tokens.ts`. MB/s, first pass and again (from the cache). */
import { randomBytes } from "node:crypto";
import { createTokenCounter } from "../src/agent/context/tokens.ts";

const megabyte = 1 << 20;
const fill = (text: string, size = megabyte) => text.repeat(Math.ceil(size / text.length)).slice(0, size);
const words = Array.from({ length: 5_000 }, () => randomBytes(4).toString("base64url").toLowerCase());
const prose = Array.from({ length: 180_000 }, (_, index) => words[(index * 7919) % words.length]).join(" ");
const chinese = "我们在测试一个分词器的速度，看看它在中文文本上的表现如何。今天天气很好，大家都出去散步了。";

const samples: Record<string, string> = {
  prose,
  code: fill(
    "export function add(left: number, right: number): number {\n  return left + right; // sum\n}\n\n",
  ),
  Chinese: fill(chinese, megabyte / 3),
  base64: randomBytes(786_432).toString("base64"),
  "100 KB of one letter": "a".repeat(100_000),
  "100 KB of random letters": randomBytes(75_000)
    .toString("base64")
    .replace(/[^a-zA-Z]/g, "x"),
  "100 KB of blanks": " ".repeat(100_000),
};

const counter = createTokenCounter();
const loadedAt = performance.now();
await counter.load();
console.log(`vocabulary: ${(performance.now() - loadedAt).toFixed(0)} ms`);
for (const [name, text] of Object.entries(samples)) {
  const passes = ["first", "again"].map((pass) => {
    const startedAt = performance.now();
    counter.count(text);
    const ms = performance.now() - startedAt;
    return `${pass} ${ms.toFixed(1)} ms (${(Buffer.byteLength(text) / 1_000 / ms).toFixed(1)} MB/s)`;
  });
  console.log(`${name}: ${counter.count(text)} tokens, ${passes.join(", ")}`);
}
