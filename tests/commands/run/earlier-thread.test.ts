import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { noUsage } from "../../../src/agent/model.ts";
import { threadId } from "../../../src/chat/threads.ts";
import { findEarlierThread, parseTerminalThread } from "../../../src/commands/run/earlier-thread.ts";
import { claimSession } from "../../../src/queue/session/claim.ts";
import { deliver } from "../../../src/queue/session/mailbox/mailbox.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** A thread of the terminal in which somebody has said something. */
async function spokenIn() {
  const redis = server.client();
  const thread = parseTerminalThread(randomBytes(8).toString("hex"));
  const id = threadId(thread);
  const message = {
    role: "user",
    id: "m1",
    author: { id: "U1", name: "Ada" },
    text: "paint it",
    at: 10,
  } as const;
  await deliver(redis, id, message, { onlyIfSession: false, now: 1 });
  return { redis, thread, id };
}

describe("a thread that is named", () => {
  test("is one of the terminal or the console, by its whole id or its last part", () => {
    const thread = { platform: "local", workspace: "console", channel: "main", thread: "0123456789abcdef" };
    expect(parseTerminalThread("0123456789abcdef")).toEqual(thread);
    expect(parseTerminalThread("local:console:main:0123456789abcdef")).toEqual(thread);
  });

  test.each([
    "slack:T1:C1:1700000000.000100",
    "discord:1:2:0123456789abcdef",
    "x",
    "",
    "local:console:main:",
    "a:b:c",
  ])("is refused when it is another one or none: %s", (name) => {
    expect(() => parseTerminalThread(name)).toThrow(/is no thread of the terminal: expected/);
  });

  test("is refused when nobody knows it", async () => {
    const thread = parseTerminalThread("fedcba9876543210");
    expect(await findEarlierThread(server.client(), thread, "go on")).toMatch(
      /^There is no thread local:console:main:fedcba9876543210: .* heddle threads list prints/,
    );
  });

  test("is refused while it works, and given with the length of its journal when it has ended", async () => {
    const { redis, thread, id } = await spokenIn();
    expect(await findEarlierThread(redis, thread, "go on")).toMatch(
      /is still at work: .* heddle stop local:/,
    );
    for (const command of ["!status", "!queue", "!schedules", "!approvals"])
      expect(await findEarlierThread(redis, thread, command)).toEqual({ thread, from: 0 });
    const lease = await claimSession(redis, id);
    await lease.take({ type: "turn-start", turn: "t1", at: 1 });
    expect(await findEarlierThread(redis, thread, "go on")).toMatch(/is still at work/);
    const outcome = { kind: "answered", text: "Painted.", steps: 1, usage: noUsage } as const;
    await lease.append([{ type: "turn-end", turn: "t1", outcome, at: 3 }], { fields: { status: "idle" } });
    expect(await findEarlierThread(redis, thread, "go on")).toEqual({ thread, from: 3 });
  });
});
