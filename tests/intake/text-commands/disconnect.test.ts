import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createOwnAccounts } from "../../../src/app/mcp/mcp-accounts.ts";
import type { Author } from "../../../src/chat/inbound.ts";
import { settingsSchema } from "../../../src/config/schema.ts";
import { createAccess } from "../../../src/intake/access.ts";
import { createIntake, type IntakeAuditEvent } from "../../../src/intake/intake.ts";
import { AccountBusy } from "../../../src/agent/contracts/mcp-account.ts";
import {
  answerDisconnectCommand,
  readDisconnectCommand,
} from "../../../src/intake/text-commands/disconnect.ts";
import { createRateLimiter } from "../../../src/queue/outbox/rate-limit.ts";
import { createAccountStore } from "../../../src/queue/stores/mcp-accounts.ts";
import { openTurnQueue } from "../../../src/queue/turns/wake-queue.ts";
import { memoryChat } from "../../fakes/memory-chat.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { offer } from "../model-offer.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test.each([
  ["!disconnect", { kind: "list" }],
  [" /disconnect Tracker ", { kind: "disconnect", server: "Tracker" }],
  ["!disconnect the database", undefined],
  ["disconnect tracker", undefined],
  ["please !disconnect", undefined],
])("%j is read as %j", (text, command) => {
  expect(readDisconnectCommand(text)).toEqual(command);
});

test("Whoever disconnects an account that another process does not let go of is told to try again", async () => {
  const accounts = {
    list: async () => ["Tracker"],
    disconnect: () => Promise.reject(new AccountBusy("Tracker")),
  };
  const command = { kind: "disconnect", server: "tracker" } as const;
  expect(await answerDisconnectCommand(accounts, "memory:w:ada", command)).toEqual({
    markdown: expect.stringMatching(/^The account at Tracker is being renewed .*: try again in a minute\.$/),
  });
});

test("Each person lists and ends accounts of their own, and nobody else's", async () => {
  const redis = server.client();
  const accounts = createAccountStore(redis, "a secret of more than thirty-two letters");
  const account = {
    ...{ version: 1 as const, server: "https://x.example/mcp", issuer: "https://x.example" },
    ...{ client: { client_id: "c" }, accessToken: "at-1" },
  };
  for (const id of ["ada", "bob"]) await accounts.of(`memory:w:${id}`).write("Tracker", account);
  const chat = memoryChat();
  const audits: IntakeAuditEvent[] = [];
  const queue = openTurnQueue(redis);
  onTestFinished(() => queue.close());
  const intake = createIntake({
    ...{ redis, output: createRateLimiter(redis), surface: () => chat.surface, now: Date.now },
    afterStop: async () => {},
    queue,
    budgets: { isOfToday: () => false, extend: async () => undefined },
    access: createAccess(settingsSchema.parse({}).access),
    models: () => offer(),
    skills: async () => [],
    prompts: async () => [],
    ahead: async () => 0,
    status: async () => "",
    audit: (event) => audits.push(event),
    onProblem() {},
    ownAccounts: createOwnAccounts(async () => accounts),
  });
  const place = { platform: "memory", workspace: "w", channel: "c" };
  let sent = 0;
  const says = async (id: string, text: string, message = `m${++sent}`) => {
    const author: Author = { id, name: id, standing: "member", roles: [] };
    const about = { thread: { ...place, thread: "t" }, ref: { ...place, message }, author, text };
    const result = await intake.receive({
      ...{ kind: "message", addressed: "mention", attachments: [], at: Date.now(), tellsRefusal: true },
      ...about,
    });
    return "reply" in result ? result.reply : result.kind;
  };
  expect(await says("eve", "!disconnect")).toBe("You have connected no account.");
  expect(await says("eve", "!disconnect tracker")).toBe("You have no account at `tracker`.");
  expect(await says("ada", "/disconnect")).toContain("You have connected `Tracker`.");
  expect(await says("ada", "!disconnect other")).toBe("You have no account at `other`, but at `Tracker`.");
  expect(await says("ada", "!disconnect tracker")).toMatch(
    /^\*\*Disconnected from `Tracker`\.\*\* .*cannot tell/,
  );
  expect(await says("ada", "!disconnect")).toBe("You have connected no account.");
  expect(await accounts.list()).toEqual([{ server: "Tracker", person: "memory:w:bob" }]);
  expect(audits).toMatchObject([
    { action: "account-disconnected", server: "Tracker", of: "memory:w:ada", by: { id: "ada" } },
  ]);
});
