import { afterEach, beforeEach, expect, test } from "vitest";
import type { MessagesBody } from "../fakes/anthropic-rules.ts";
import { type FakeModelServer, type FakeReply, startFakeAnthropic } from "../fakes/anthropic.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { type FakeSlack, startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { modelEnvironment, slackEnvironment } from "./environment.ts";
import { newPlace, patienceMs, type Place } from "./program.ts";

let redis: TestRedis;
let place: Place;
let slack: FakeSlack;
let model: FakeModelServer;
beforeEach(async () => {
  [redis, place, slack, model] = await Promise.all([
    startRedis(),
    newPlace(),
    startFakeSlack({ patienceMs }),
    startFakeAnthropic({ replies }),
  ]);
});
afterEach(async ({ task }) => {
  if (task.result?.state === "fail") console.error(place.outputs());
  await place.clean();
  await Promise.all([slack.close(), model.close(), redis.stop()]);
});

const plans = (input: object): FakeReply => ({
  content: [{ type: "tool_use", name: "schedule", input: { action: "create", ...input } }],
});

/** What is due may come as late as the second plan, or with the work that makes it. */
function replies({ messages }: MessagesBody): FakeReply {
  const said = JSON.stringify(messages);
  switch (said.split('"tool_use"').length) {
    case 1:
      return plans({ task: "report the build", in_minutes: 0.01 });
    case 2:
      return plans({ task: "greet the team", cron: "0 9 * * 1-5", time_zone: "Europe/Berlin" });
    default: {
      const isDue = said.includes("[scheduled by ada] report the build");
      return { content: [{ type: "text", text: isDue ? "The build is green." : "Both are planned." }] };
    }
  }
}

test("A task is planned in a thread, done there when it is due, listed and cancelled from outside", async () => {
  const environment = {
    REDIS_URL: redis.path,
    ...slackEnvironment(slack),
    ...modelEnvironment(model),
  };
  await place.start(["start"], environment).line(/Heddle is ready/);
  const ada = slack.user("ada");
  const general = slack.channel("general");
  const question = await ada.says(general, "<@BOT> report the build in a moment, and greet us each morning");
  const shown = (text: string) =>
    slack.message((message) => message.text.includes(text) && message.threadTs === question.ts);
  await shown("⏰ Scheduled by ada");
  await shown("The build is green.");
  expect(JSON.stringify(model.bodies)).toMatch(/\[scheduled by ada\] report the build/);

  await ada.says(general, "/schedules", { thread: question.ts });
  const { text } = await shown("by ada: greet the team");
  expect(text).toContain("weekdays at 09:00 (Europe/Berlin)");
  const id = /\bs[0-9a-f]{8}\b/.exec(text)?.[0] ?? "";

  const list = place.start(["schedules", "list"], environment);
  expect(await list.ended).toBe(0);
  expect(list.output()).toMatch(new RegExp(`^slack:\\S+  ${id}: cron .* by ada: greet the team$`, "m"));
  const thread = /^slack:\S+/m.exec(list.output())?.[0] ?? "";
  const cancel = place.start(["schedules", "cancel", thread, id], environment);
  expect(await cancel.ended).toBe(0);
  await ada.says(general, `<@BOT> /unschedule ${id}`, { thread: question.ts });
  await shown("Nothing is planned in this thread.");
});
