import { randomBytes } from "node:crypto";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { Tiktoken } from "js-tiktoken/lite";
import ranks from "js-tiktoken/ranks/o200k_base";
import { beforeAll, describe, expect, test } from "vitest";
import { createTokenCounter, estimateTokens } from "../../../src/agent/context/tokens.ts";
import type { Message } from "../../../src/agent/messages.ts";

const counter = createTokenCounter();
let oracle: Tiktoken;

beforeAll(async () => {
  await counter.load();
  oracle = new Tiktoken(ranks);
});

const chinese = "我们在测试一个分词器的速度，看看它在中文文本上的表现如何。今天天气很好。";

describe("an exact count", () => {
  test("is that of js-tiktoken for any text", () => {
    const letters = fc.string({ unit: "binary", maxLength: 200 });
    const graphemes = fc.string({ unit: "grapheme", maxLength: 60 });
    const runs = fc
      .tuple(
        fc.constantFrom("a", "é", " ", "\n", "-", "=", "A", "我", "😀", "1"),
        fc.integer({ min: 1, max: 100 }),
      )
      .map(([unit, times]) => unit.repeat(times));
    const words = fc.lorem({ maxCount: 20 });
    const text = fc.array(fc.oneof(letters, graphemes, runs, words), { maxLength: 5 });
    fc.assert(
      fc.property(text, (parts) => {
        const joined = parts.join(" ");
        expect(counter.count(joined)).toBe(oracle.encode(joined, [], []).length);
      }),
      { numRuns: 300 },
    );
  });

  test("needs no network", async () => {
    const source = join(import.meta.dirname, "../../../src/agent/context/tokens.ts");
    const count = `const counter = (await import(${JSON.stringify(source)})).createTokenCounter();
      await counter.load();
      console.log(counter.count("hello world"));`;
    const alone = [
      "--dev-bind",
      "/",
      "/",
      "--unshare-net",
      process.execPath,
      "--input-type=module",
      "-e",
      count,
    ];
    expect((await promisify(execFile)("bwrap", alone)).stdout).toBe("2\n");
  });

  test("takes what looks like a special token as plain text", () => {
    const text = "a <|endoftext|> b <|endofprompt|>";
    expect(counter.count(text)).toBe(oracle.encode(text, [], []).length);
  });

  test("of one long run is within half a percent, and takes no time to speak of", () => {
    expect(counter.count("a".repeat(12_800))).toBe(1_600);
    // Counted in one piece it would exceed the test's own time limit.
    expect(counter.count("a".repeat(100_000))).toBeGreaterThan(12_000);
  });

  test("never cuts a surrogate pair when it slices a run", () => {
    const text = `${"x".repeat(255)}${"😀".repeat(300)}`;
    const slicesOfPairs = Math.abs(counter.count(text) - oracle.encode(text, [], []).length);
    expect(slicesOfPairs).toBeLessThan(5);
  });
});

describe("a message", () => {
  const user: Message = { role: "user", id: "1", author: { id: "U1", name: "Ann" }, text: "hello", at: 0 };

  test("costs its text, its author's name and an overhead", () => {
    expect(counter.countMessage(user)).toBe(counter.count("hello") + counter.count("Ann") + 4);
  });

  test("keeps its count when it is stored, so that a session that is read again recounts nothing", () => {
    const stored: Message = JSON.parse(JSON.stringify(counter.measure({ ...user })));
    expect(stored.tokens).toBe(counter.countMessage(user));
    expect(counter.countMessage({ ...stored, tokens: 7 })).toBe(7);
    // An estimate is not kept.
    expect(createTokenCounter().measure({ ...user })).toEqual(user);
  });

  test("costs more with an image", () => {
    const image = { mediaType: "image/png", data: "AAAA" } as const;
    expect(counter.countMessage({ ...user, images: [image] }) - counter.countMessage(user)).toBe(1_600);
  });

  test("counts thinking, text and the arguments of tool calls", () => {
    const call = { id: "c1", name: "bash", input: { command: "ls -la" } };
    const message: Message = {
      role: "assistant",
      id: "2",
      model: "demo",
      stop: "tool-calls",
      parts: [
        { type: "thinking", text: "let me look", protocol: "demo", raw: null },
        { type: "text", text: "Looking." },
        { type: "tool-call", call },
      ],
    };
    const texts = ["let me look", "Looking.", "bash", JSON.stringify(call.input)];
    expect(counter.countMessage(message)).toBe(texts.reduce((sum, text) => sum + counter.count(text), 4));
  });
});

describe("before the vocabulary is loaded", () => {
  test("the count is an estimate that loads the vocabulary", async () => {
    const fresh = createTokenCounter();
    expect(fresh.count("hello world")).toBe(estimateTokens("hello world"));
    await fresh.load();
    expect(fresh.count("hello world")).toBe(2);
  });

  test("what goes with many requests is not remembered as it was estimated", async () => {
    const fresh = createTokenCounter();
    expect(fresh.countFixed("hello world")).toBe(estimateTokens("hello world"));
    await fresh.load();
    expect([fresh.countFixed("hello world"), fresh.countFixed("hello world")]).toEqual([2, 2]);
  });

  test.each([
    ["English", "The quick brown fox jumps over the lazy dog and runs away into the forest."],
    ["code", "export function add(left: number, right: number): number { return left + right; }"],
    ["Chinese", chinese],
    ["Russian", "Съешь ещё этих мягких французских булок, да выпей же чаю."],
    ["emoji", "😀🎉🚀👍"],
    ["base64", randomBytes(600).toString("base64")],
    [
      "JSON",
      JSON.stringify(Array.from({ length: 20 }, (_unused, id) => ({ id, name: "part", price: id * 17 }))),
    ],
  ])("the estimate of %s is not below the truth, nor above twice of it", (_, text) => {
    const truth = counter.count(text);
    expect(estimateTokens(text)).toBeGreaterThanOrEqual(truth);
    expect(estimateTokens(text)).toBeLessThanOrEqual(2 * truth + 2);
  });
});
