import { once } from "node:events";
import { connect } from "node:net";
import { text as readText } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { type FakeSlack, type FakeSlackOptions, startFakeSlack } from "../../fakes/slack/fake-slack.ts";
import { nobodyWasHere, startHttpAdapter, untilAcknowledged, signingSecret } from "./connected-adapter.ts";

async function scene(options: FakeSlackOptions = {}) {
  const slack: FakeSlack = await startFakeSlack(options);
  onTestFinished(() => slack.close());
  const { intake, adapter, url } = await startHttpAdapter({ botToken: slack.botToken }, slack.url);
  const requests = slack.sendTo(url, signingSecret);
  return { slack, intake, adapter, url, requests };
}

describe("requests from Slack", () => {
  test("bring messages, buttons and commands in without an app token", async () => {
    const { slack, intake } = await scene();
    const ada = slack.user("ada");
    const general = slack.channel("general");
    await ada.says(general, "<@BOT> hello");
    ada.commands(general, "/agent build it");
    ada.commands(general, "/agent");
    await untilAcknowledged(slack);
    expect(intake.events).toMatchObject([
      { kind: "message", text: "hello" },
      { kind: "message", text: "hello" },
      { kind: "message", text: "build it" },
    ]);
    expect(ada.ephemerals()).toEqual([expect.stringContaining("/agent <task>")]);
    expect(slack.connections).toBe(0);
  });

  test("are acknowledged only when the intake has them, and come again otherwise", async () => {
    const { slack, intake } = await scene();
    intake.next.push(async () => {
      throw new Error("Redis is away");
    });
    const ada = slack.user("ada");
    await ada.says(slack.direct(ada), "hi");
    await untilAcknowledged(slack);
    expect(slack.deliveries[0]).toMatchObject({ attempts: 2, isAcknowledged: true });
    expect(intake.events).toMatchObject([{ text: "hi" }]);
  });

  test("are answered when Slack verifies the address", async () => {
    const { requests } = await scene();
    const body = JSON.stringify({ type: "url_verification", challenge: "3eZbrw1a" });
    const response = await requests.post(body, "application/json");
    expect(await response.text()).toContain("3eZbrw1a");
  });

  test.each([
    ["signed with another secret", { secret: "another" }],
    ["older than five minutes", { ageSeconds: 301 }],
    ["of a time more than five minutes ahead", { ageSeconds: -302 }],
  ])("are refused when they are %s", async (_what, forgery) => {
    const { slack, intake, requests } = await scene();
    await slack.user("ada").says(slack.channel("general"), "<@BOT> real");
    await untilAcknowledged(slack);
    const body = JSON.stringify(slack.deliveries[0]?.payload);
    const before = intake.events.length;
    expect((await requests.post(body, "application/json")).status).toBe(200);
    expect((await requests.post(body, "application/json", forgery)).status).toBe(401);
    expect(intake.events).toHaveLength(before + 1);
  });

  test("of one reaction at two processes at once post one question, which both hand in", async () => {
    const { slack, intake, url } = await scene();
    const second = await startHttpAdapter({ botToken: slack.botToken }, slack.url);
    const general = slack.channel("general");
    // More than once: which of the two is first is chance.
    for (let time = 1; time <= 8; time += 1) {
      slack.sendTo(url, signingSecret);
      const message = await slack.user("bob").says(general, `build ${time} is red`);
      await untilAcknowledged(slack);
      const given = slack.user("ada").reacts("robot_face", message);
      const body = JSON.stringify(slack.deliveries.at(-1)?.payload);
      expect(body).toContain("reaction_added");
      const told = await slack.sendTo(second.url, signingSecret).post(body, "application/json");
      expect(told.status).toBe(200);
      await given;
      await untilAcknowledged(slack);
      const asked = general.messages.filter(
        ({ threadTs, text }) => threadTs === message.ts && text.includes("asks about a message"),
      );
      expect(asked).toHaveLength(1);
      const about = { kind: "message", ref: { message: asked[0]?.ts }, author: { name: "ada" } };
      expect([intake.events.at(-1), second.intake.events.at(-1)]).toMatchObject([about, about]);
    }
  });

  test("elsewhere are not found", async () => {
    const { url } = await scene();
    expect((await fetch(new URL("/slack/install", url))).status).toBe(404);
    expect((await fetch(url)).status).toBe(404);
  });

  test("in hand are finished when the adapter stops, and then nobody listens", async () => {
    const { slack, intake, adapter, url } = await scene();
    const arrived = Promise.withResolvers<void>();
    const persisted = Promise.withResolvers<void>();
    intake.next.push(async () => {
      arrived.resolve();
      await persisted.promise;
      return { kind: "duplicate" };
    });
    const ada = slack.user("ada");
    await ada.says(slack.direct(ada), "last words");
    await arrived.promise;
    const stopped = adapter.stop();
    persisted.resolve();
    await stopped;
    await untilAcknowledged(slack);
    await expect(fetch(url)).rejects.toThrow();
  });

  test("fill no memory without a signature: they are small, few at once and there in time", async () => {
    const { url, requests } = await scene();
    const large = { type: "url_verification", challenge: "x".repeat(1_200_000) };
    expect((await requests.post(JSON.stringify(large), "application/json")).status).toBe(413);
    const { hostname, port, pathname } = new URL(url);
    const begun = `POST ${pathname} HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\nunfinished`;
    const answers = await Promise.all(
      Array.from({ length: 300 }, async () => {
        const socket = connect(Number(port), hostname);
        socket.write(begun);
        return await readText(socket).catch(() => "");
      }),
    );
    const late = answers.filter((answer) => answer.startsWith("HTTP/1.1 408 "));
    expect(late.length).toBeGreaterThan(0);
    expect(late.length).toBeLessThanOrEqual(256);
    expect(answers.filter((answer) => answer === "").length).toBeGreaterThanOrEqual(44);
  }, 30_000);

  test("that stop in the middle do not hold up the end", async () => {
    const { adapter, url } = await scene();
    const { hostname, port, pathname } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    const cut = once(socket, "close");
    socket.write(
      `POST ${pathname} HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 100\r\n\r\n`,
    );
    // The server has begun to read it.
    await once(socket, "data");
    await adapter.stop();
    await cut;
  });
});

test("messages that were missed are looked for at the start", async () => {
  const slack = await startFakeSlack();
  onTestFinished(() => slack.close());
  const noted = Promise.withResolvers<void>();
  const looked: string[] = [];
  await startHttpAdapter({ botToken: slack.botToken }, slack.url, {
    ...nobodyWasHere,
    lastConnectedAt: async (_platform, workspace) => void looked.push(workspace),
    markConnected: async () => noted.resolve(),
    threads: async () => [],
    open: async () => [],
  });
  await noted.promise;
  expect(looked).toEqual([slack.teamId]);
});
