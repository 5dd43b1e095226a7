import { describe, expect, type TestContext, test } from "vitest";
import { reconnects } from "../../../src/chat/adapter.ts";
import { type FakeSlack, startFakeSlack } from "../../fakes/slack/fake-slack.ts";
import { adapterFor, nobodyWasHere, recordingIntake } from "./connected-adapter.ts";

/** Connections that are open and dead. They take seconds to tell from slow ones, so both wait at the same time. */

async function connectedSlack({ onTestFinished }: TestContext): Promise<FakeSlack> {
  const slack = await startFakeSlack();
  const adapter = adapterFor(slack, nobodyWasHere);
  await adapter.start(recordingIntake());
  onTestFinished(async () => {
    await adapter.stop();
    await slack.close();
  });
  return slack;
}

describe.concurrent("A connection to Slack is made anew, and counted,", () => {
  test("when it answers no ping for some seconds", async (context) => {
    const counted: unknown[] = [];
    const count = (message: unknown) => void counted.push(message);
    const slack = await connectedSlack(context);
    reconnects.subscribe(count);
    context.onTestFinished(() => {
      reconnects.unsubscribe(count);
    });
    slack.freeze();
    await slack.until(() => slack.connections === 2, 25_000);
    expect(counted).toContainEqual({ platform: "slack" });
  });

  test("when Slack does not say hello on it", async (context) => {
    const slack = await connectedSlack(context);
    slack.mute();
    slack.cut();
    await slack.until(() => slack.connections === 0);
    await slack.until(() => slack.connections === 1, 25_000);
  });
});
