import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { startAdapters } from "../../src/app/start-adapters.ts";
import { type ChatAdapter, connections, PlatformUnreachable } from "../../src/chat/adapter.ts";
import type { Intake } from "../../src/chat/inbound.ts";
import { adapterFor, nobodyWasHere } from "../adapters/slack/connected-adapter.ts";
import { adapterFor as discordAdapterFor } from "../adapters/discord/connected-adapter.ts";
import { startFakeDiscord } from "../fakes/discord/fake-discord.ts";
import { startFakeSlack } from "../fakes/slack/fake-slack.ts";

const intake: Intake = { receive: async () => ({ kind: "duplicate" }) };

/** Something that starts at once, as the console does. */
function localAdapter(): ChatAdapter & { isServing: boolean } {
  return {
    platform: "local",
    isServing: false,
    async start() {
      this.isServing = true;
    },
    async stop() {
      this.isServing = false;
    },
  };
}

function recordingLog() {
  const lines: string[] = [];
  const connected = Promise.withResolvers<void>();
  const write = (line: string) => {
    lines.push(line);
    if (line.includes("is reached and connected")) connected.resolve();
  };
  return {
    log: pino({ level: "info" }, { write }),
    said: () => lines.join(""),
    connected: connected.promise,
  };
}

test("a Slack that is not reached keeps nothing else from serving, is named, and is connected once it is there", async () => {
  const slack = await startFakeSlack();
  onTestFinished(() => slack.close());
  slack.fail("auth.test", { kind: "lost-request" }, 3);
  const local = localAdapter();
  const changes: unknown[] = [];
  const onChange = (change: unknown) => changes.push(change);
  connections.subscribe(onChange);
  onTestFinished(() => connections.unsubscribe(onChange));
  const { log, said, connected } = recordingLog();
  const started = await startAdapters([adapterFor(slack, nobodyWasHere), local], {
    intake,
    log,
    retryMs: 10,
  });
  onTestFinished(() => started.close());
  expect(local.isServing).toBe(true);
  expect(started.unreached()).toEqual(["slack"]);
  // So that an alert on a platform of which nothing is heard has a figure.
  expect(changes).toEqual([{ platform: "slack", isConnected: undefined }]);
  expect(said()).toMatch(/Slack was not reached .*Heddle keeps trying, and serves everything else/);
  await connected;
  expect(slack.connections).toBe(1);
  expect(changes.at(-1)).toEqual({ platform: "slack", isConnected: true });
  expect(started.unreached()).toEqual([]);
});

test("a Discord that is not reached keeps nothing else from serving", async () => {
  const discord = await startFakeDiscord();
  const adapter = discordAdapterFor(discord);
  await discord.close();
  const local = localAdapter();
  const { log, said } = recordingLog();
  const started = await startAdapters([adapter, local], { intake, log });
  expect(local.isServing).toBe(true);
  expect(started.unreached()).toEqual(["discord"]);
  expect(said()).toContain("Discord was not reached (ECONNREFUSED)");
  await started.close();
  expect(local.isServing).toBe(false);
});

test("a wrong token still ends the start, and leaves nothing open", async () => {
  const slack = await startFakeSlack();
  onTestFinished(() => slack.close());
  slack.fail("auth.test", { kind: "refuse", error: "invalid_auth" });
  const local = localAdapter();
  const { log } = recordingLog();
  const starting = startAdapters([adapterFor(slack, nobodyWasHere), local], { intake, log });
  await expect(starting).rejects.toThrow("SLACK_BOT_TOKEN is not a token that Slack knows");
  expect(local.isServing).toBe(false);
});

test("an end while a platform is being retried is not held up", async () => {
  const slack = await startFakeSlack();
  const adapter = adapterFor(slack, nobodyWasHere);
  await slack.close();
  const { log } = recordingLog();
  const started = await startAdapters([adapter], { intake, log, retryMs: 600_000 });
  await started.close();
  expect(started.unreached()).toEqual(["slack"]);
});

test("an end while a platform that is retried does not answer is not held up, and a late answer is let go", async () => {
  let attempts = 0;
  const { promise: answer, resolve: answers } = Promise.withResolvers<void>();
  const { promise: stopped, resolve: stops } = Promise.withResolvers<void>();
  const { promise: asked, resolve: asks } = Promise.withResolvers<void>();
  const adapter: ChatAdapter = {
    platform: "slack",
    async start() {
      attempts += 1;
      if (attempts === 1) throw new PlatformUnreachable("Slack was not reached.");
      asks();
      await answer;
    },
    stop: async () => stops(),
  };
  const started = await startAdapters([adapter], { intake, log: recordingLog().log, retryMs: 1 });
  await asked;
  await started.close();
  answers();
  await stopped;
});
