import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { startJob } from "../../src/sandbox/thread/jobs.ts";

/** A job that prints what it is told to. */
function printingJob(folder: string, maxOutputBytes: number) {
  let print: (text: string) => void = () => {};
  const tracked = startJob({
    ...{ command: "print", folder, maxOutputBytes },
    launch(onOutput) {
      print = (text) => onOutput("stdout", Buffer.from(text));
      return {
        id: 1,
        ended: new Promise(() => {}),
        kill: () => expect.unreachable("nothing is wrong with the disk"),
      };
    },
    kill: () => Promise.reject(new Error("nobody kills")),
  });
  return { ...tracked, print };
}

test("what is read of a job's output is what it printed there, whatever is written meanwhile", async () => {
  const folder = mkdtempSync(join(tmpdir(), "heddle-job-output-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const text = fc.string({ unit: fc.constantFrom(..."abcdefgh\n"), maxLength: 60 });
  const step = fc.oneof(
    fc.record({ print: text }),
    fc.record({ offset: fc.nat(300), most: fc.nat(80) }),
    fc.constant("wait" as const),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 100 }),
      fc.array(step, { maxLength: 30 }),
      async (limit, steps) => {
        const { job, release, print } = printingJob(folder, limit);
        let all = "";
        const reads: Promise<{ offset: number; most: number; start: number; end: number; data: string }>[] =
          [];
        for (const next of steps) {
          if (next === "wait") await setImmediate();
          else if ("print" in next) {
            print(next.print);
            all += next.print;
          } else {
            const reading = job.read(next.offset, next.most);
            reads.push(
              reading.then(({ data, next: end }) => ({
                ...{ ...next, start: end - data.length, end, data: data.toString() },
              })),
            );
          }
        }
        for (const { offset, most, start, end, data } of await Promise.all(reads)) {
          expect(data).toBe(all.slice(start, end));
          expect(start).toBeGreaterThanOrEqual(offset);
          expect(data.length).toBeLessThanOrEqual(most);
        }
        const { data, total } = await job.read(0, 10_000);
        expect({ data: data.toString(), total }).toEqual({ data: all.slice(-limit), total: all.length });
        await release();
      },
    ),
    { numRuns: 200 },
  );
});
