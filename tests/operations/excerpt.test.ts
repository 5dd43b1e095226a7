import type { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { createMasker } from "../../src/agent/secrets/mask-secrets.ts";
import { createCallIndex } from "../../src/operations/timeline/calls.ts";
import { createOutlines } from "../../src/operations/timeline/outline.ts";
import { makeExcerpt } from "../../src/operations/excerpt.ts";
import { buildTimeline } from "../../src/operations/timeline/timeline.ts";
import { begin, call, calling, write } from "../adapters/console/sessions.ts";
import { startRedis } from "../fakes/redis.ts";

/** What people are shown of what models and tools have written, and what that costs. */

const secret = "correct-horse-battery-staple";
const key = Array.from({ length: 300 }, (_, line) => `line-${line * 7_919}`).join("/");
const { mask } = createMasker([secret, key]);

/** A mask that tells how much it was given. */
function countMasked() {
  const counted = { chars: 0, mask: (text: string) => ((counted.chars += text.length), text) };
  return counted;
}

test("Of a long text only as much is masked as can be shown, and a margin", () => {
  const counted = countMasked();
  const excerpt = makeExcerpt("x".repeat(5_000_000), counted.mask, 1_000);
  expect(excerpt).toEqual({ text: "x".repeat(1_000), omitted: 4_999_000 });
  expect(counted.chars).toBeLessThan(50_000);
});

test("No part of a secret is shown, wherever the text is cut and however many were masked before", () => {
  for (const hidden of [secret, key]) {
    // So that the end of what is read would otherwise move into what is shown.
    const text = `${hidden} `.repeat(Math.ceil(100_000 / hidden.length));
    for (const chars of [10, 120, 1_000, 30_000]) {
      for (let shift = 0; shift < 120; shift += 40) {
        const { text: shown } = makeExcerpt("-".repeat(shift) + text, mask, chars);
        expect(shown.replaceAll("[masked]", "").replace(/\[\w*$/, "")).not.toMatch(/\w/);
        expect(shown.length).toBe(Math.min(chars, mask(text).length + shift));
      }
    }
  }
});

test("A call with nested arguments makes an entry of a timeline that costs little, however often it is looked at", async () => {
  const nested: unknown = JSON.parse(`${"[".repeat(2_000)}${"1,".repeat(5_000)}1${"]".repeat(2_000)}`);
  const record = calling(1, [call("c", "bash", { command: "true", x: nested })]);
  const counted = countMasked();
  const [entry] = await buildTimeline([record], 0, undefined, counted.mask);
  expect(entry).toMatchObject({
    calls: [{ arguments: { text: expect.stringContaining('"command":"true"') } }],
  });
  expect(counted.chars).toBeLessThan(20_000);
});

/** A mask that tells how much it was given at most before others ran. */
function countHeldUp() {
  let masked = 0;
  const counted = {
    most: 0,
    isOver: false,
    mask(text: string) {
      masked += text.length;
      counted.most = Math.max(counted.most, masked);
      return text;
    },
  };
  const others = () => {
    masked = 0;
    if (!counted.isOver) setImmediate(others);
  };
  others();
  return counted;
}

const written = (step: number) => calling(step, [call("c", "write_file", { content: "x".repeat(50_000) })]);

/** Six such steps of a turn in that thread. */
async function storeWritten(thread: string): Promise<Redis> {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const redis = server.client();
  await write(redis, thread, "Write it");
  const lease = await begin(redis, thread, "t1");
  await lease.append([1, 2, 3, 4, 5, 6].map(written));
  return redis;
}

test("Others run between the long calls of a timeline", async () => {
  const counted = countHeldUp();
  const entries = await buildTimeline([1, 2, 3, 4, 5, 6].map(written), 0, undefined, counted.mask);
  counted.isOver = true;
  expect(entries).toHaveLength(6);
  expect(counted.most).toBeLessThan(100_000);
});

test("Others run between the long calls of a turn's list", async () => {
  const redis = await storeWritten("slack:T1:C1:1.1");
  const counted = countHeldUp();
  const { calls } = await createCallIndex(redis, counted.mask).list("slack:T1:C1:1.1", "t1");
  counted.isOver = true;
  expect(calls).toHaveLength(6);
  expect(counted.most).toBeLessThan(100_000);
});

test("A search in a timeline masks what has the words alone, and others run between", async () => {
  const redis = await storeWritten("slack:T1:C1:1.1");
  const counted = countHeldUp();
  const { found } = await createOutlines(redis, counted.mask).search("slack:T1:C1:1.1", "XXX");
  counted.isOver = true;
  expect(found).toHaveLength(6);
  expect(counted.most).toBeLessThan(100_000);
  const masked = countMasked();
  const none = await createOutlines(redis, masked.mask).search("slack:T1:C1:1.1", "y");
  expect(none).toEqual({ found: [], hasMore: false });
  expect(masked.chars).toBe(0);
});
