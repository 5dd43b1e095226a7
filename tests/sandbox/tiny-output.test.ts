import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test } from "vitest";
import { startJob } from "../../src/sandbox/thread/jobs.ts";
import { collectOutput } from "../../src/sandbox/thread/output.ts";

const count = 2_000;

/** Takes bytes one by one, each in memory of its own, and gives the memory that is still held of them. */
function heldAfter(take: (byte: Buffer) => void): number {
  setFlagsFromString("--expose-gc");
  // What the flag brings into a new context.
  const gc = runInNewContext("gc") as () => void;
  // The second ends what the first has left to a thread of its own.
  const collectGarbage = () => [gc, gc].forEach((collect) => collect());
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  for (let index = 0; index < count; index++) take(Buffer.from(new ArrayBuffer(65_536), 0, 1));
  collectGarbage();
  return process.memoryUsage().arrayBuffers - before;
}

test("output that comes byte by byte takes no more memory than its bytes, of a command", () => {
  const output = collectOutput(10_000);
  expect(heldAfter((byte) => output.take("stdout", byte))).toBeLessThan(10_000_000);
  expect(output.result()).toEqual({
    stdout: Buffer.alloc(count),
    stderr: Buffer.alloc(0),
    droppedBytes: 0,
  });
});

test("and of a job that writes faster than its disk", async () => {
  const folder = mkdtempSync(join(tmpdir(), "heddle-tiny-output-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  let print: (byte: Buffer) => void = () => {};
  const { job, release } = startJob({
    ...{ command: "print", folder, maxOutputBytes: 10_000 },
    launch(onOutput) {
      print = (byte) => onOutput("stdout", byte);
      return { id: 1, ended: new Promise(() => {}), kill() {} };
    },
    kill: () => Promise.reject(new Error("nobody kills")),
  });
  expect(heldAfter((byte) => print(byte))).toBeLessThan(10_000_000);
  expect(await job.read(0, 10_000)).toMatchObject({ data: Buffer.alloc(count), total: count });
  await release();
});
