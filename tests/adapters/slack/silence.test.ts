import { pino } from "pino";
import { describe, expect, onTestFinished, test } from "vitest";
import { reconnects } from "../../../src/adapters/adapter.ts";
import { createSlackAdapter } from "../../../src/adapters/slack/adapter.ts";
import { type FakeSlack, startFakeSlack } from "../../fakes/slack/fake-slack.ts";

/** Connections that are open and dead. They take seconds to tell from slow ones, so both wait at the same time. */

async function connectedSlack(): Promise<FakeSlack> {
  const slack = await startFakeSlack();
  const adapter = createSlackAdapter({
    botToken: slack.botToken,
    appToken: slack.appToken,
    apiUrl: slack.url,
    stopReactions: [],
    attendance: {
      missedSince: async () => undefined,
      present: async () => undefined,
      threads: async () => [],
    },
    log: pino({ level: "silent" }),
  });
  await adapter.start({ receive: async () => ({ kind: "duplicate" }) });
  onTestFinished(async () => {
    await adapter.stop();
    await slack.close();
  });
  return slack;
}

describe.concurrent("A connection to Slack is made anew, and counted,", () => {
  test("when it answers no ping for some seconds", async () => {
    const counted: unknown[] = [];
    const count = (message: unknown) => void counted.push(message);
    const slack = await connectedSlack();
    reconnects.subscribe(count);
    onTestFinished(() => {
      reconnects.unsubscribe(count);
    });
    slack.freeze();
    await slack.until(() => slack.connections === 2, 14_000);
    expect(counted).toContainEqual({ platform: "slack" });
  });

  test("when Slack does not say hello on it", async () => {
    const slack = await connectedSlack();
    slack.mute();
    slack.cut();
    await slack.until(() => slack.connections === 0);
    await slack.until(() => slack.connections === 1, 14_000);
  });
});
