import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { OutboundMessage } from "../../src/chat/outbound.ts";
import { SurfaceError } from "../../src/chat/surface.ts";
import { createEditedMessage } from "../../src/progress/edited-message.ts";
import { createRateLimiter } from "../../src/queue/outbox/rate-limit.ts";
import { LeaseLost } from "../../src/queue/session/lease.ts";
import { memoryChat } from "../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const thread = { platform: "memory", workspace: "w", channel: "c", thread: "t" };
const working: OutboundMessage = { kind: "progress", markdown: "Working" };
const done: OutboundMessage = { kind: "progress", markdown: "Done by another worker" };

const limited = new SurfaceError("rate-limited", "Too many requests.", { retryAfterMs: 20 });
const lost = new SurfaceError("uncertain", "The answer was lost.");

/** The progress message of a worker that stood still, and whose turn another one has gone on with. */
async function overtaken(last: OutboundMessage | null, failures: readonly SurfaceError[]) {
  const { surface, ...chat } = memoryChat();
  const [ref] = await surface.post(thread, last ?? working, "t1:progress");
  const left = [...failures];
  /** Does it, and loses the answer; or does not. */
  const spoil = async (work: () => Promise<void>) => {
    const failure = left.shift();
    if (failure?.kind !== "rate-limited") await work();
    if (failure) throw failure;
  };
  const message = createEditedMessage({
    surface: {
      ...surface,
      edit: (at, content) => spoil(() => surface.edit(at, content)),
      remove: (at) => spoil(() => surface.remove(at)),
    },
    output: createRateLimiter(server.client()),
    thread,
    key: "t1:progress",
    known: ref,
    knownSince: Date.now(),
    lookSince: undefined,
    onPosted: async () => {
      throw new LeaseLost("memory:w:c:t");
    },
    overtaken: async () => last,
    onProblem() {},
  });
  return { message, shown: () => chat.shown.map(({ message: { markdown } }) => markdown) };
}

const faults: [string, SurfaceError[]][] = [
  ["is taken at once", []],
  ["is limited", [limited]],
  ["loses its answer", [lost]],
];
const after: [string, SurfaceError[]][] = [
  ...faults,
  ["is limited twice and then loses its answer", [limited, limited, lost]],
];
const ends: [string, OutboundMessage | null, string[]][] = [
  ["what the other one has shown last", done, ["Done by another worker"]],
  ["nothing, where the other one has removed it", null, []],
];

describe("A worker that stood still and edits its progress message after another has gone on", () => {
  for (const [edit, editFaults] of faults.filter(([, [fault]]) => fault?.kind !== "rate-limited")) {
    for (const [repair, repairFaults] of after) {
      test.each(ends)(
        `leaves %s, where its edit ${edit} and the repair ${repair}`,
        async (_what, last, left) => {
          const { message, shown } = await overtaken(last, [...editFaults, ...repairFaults]);
          message.show(() => working);
          await expect.poll(shown).toEqual(left);
          await message.close();
          expect(shown()).toEqual(left);
        },
      );
    }
  }
});

describe("A worker that posts its progress message after another has gone on", () => {
  test.each(after)("removes it, where the removal %s", async (_what, failures) => {
    const { surface, ...chat } = memoryChat();
    const left = [...failures];
    const message = createEditedMessage({
      surface: {
        ...surface,
        async remove(ref) {
          const failure = left.shift();
          if (failure?.kind !== "rate-limited") await surface.remove(ref).catch(() => undefined);
          if (failure) throw failure;
        },
      },
      output: createRateLimiter(server.client()),
      ...{ thread, key: "t2:progress", known: undefined, knownSince: 0, lookSince: undefined },
      onPosted: async () => {
        throw new LeaseLost("memory:w:c:t");
      },
      overtaken: async () => undefined,
      onProblem() {},
    });
    message.show(() => working);
    await chat.until(() => chat.shown.length === 1);
    await chat.until(() => chat.shown.length === 0 && left.length === 0);
    await message.close();
    expect(chat.shown).toEqual([]);
  });
});
