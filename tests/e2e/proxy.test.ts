import { expect, onTestFinished, test } from "vitest";
import { startFakeAnthropic } from "../fakes/anthropic.ts";
import { startProxy } from "../fakes/proxy.ts";
import { startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { modelEnvironment, slackEnvironment } from "./environment.ts";
import { useSetting } from "./hooks.ts";

const here = useSetting();

test("where a proxy is the only way out, a mention arrives by Slack's socket and is answered by the model", async () => {
  const [proxy, slack, model] = await Promise.all([
    startProxy(),
    startFakeSlack({ host: "slack.test" }),
    startFakeAnthropic({ replies: () => ({ content: [{ type: "text", text: "Hello from inside." }] }) }),
  ]);
  onTestFinished(async () => {
    await Promise.all([proxy.close(), slack.close(), model.close()]);
  });
  const program = here.place.start(["start"], {
    REDIS_URL: here.redis.path,
    HTTP_PROXY: proxy.url,
    HTTPS_PROXY: proxy.url,
    ...slackEnvironment(slack),
    ...modelEnvironment(model),
    ANTHROPIC_BASE_URL: model.url.replace("127.0.0.1", "model.test"),
  });
  await program.line(/Heddle is ready/);
  await slack.user("ada").says(slack.channel("general"), "<@BOT> hello");
  await slack.message(({ text }) => text.includes("Hello from inside."));
  expect(new Set(proxy.asked.map((line) => line.split(" ")[1]))).toEqual(
    new Set(["slack.test", "model.test"]),
  );
});
