import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runs, says } from "../fakes/anthropic-replies.ts";
import { startFakeAnthropic } from "../fakes/anthropic.ts";
import { startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { modelEnvironment, slackEnvironment } from "./environment.ts";
import { useSetting } from "./hooks.ts";
import { patienceMs } from "./program.ts";

const here = useSetting();

test("an administrator on Slack denies somebody, whose running turn runs nothing more in another process; every process tells of its configuration", {
  timeout: 3 * patienceMs,
}, async () => {
  const asked = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const model = await startFakeAnthropic({
    async replies(body) {
      if (body.messages.length > 1) return says("I was told not to.");
      asked.resolve();
      await go.promise;
      return runs("echo secrets");
    },
  });
  const slack = await startFakeSlack({ patienceMs });
  const [chief, mallory] = [slack.user("chief"), slack.user("mallory")];
  const settings = { access: { administrators: [chief.id] } };
  await writeFile(join(here.place.folder, "heddle.yaml"), JSON.stringify(settings));
  const env = {
    REDIS_URL: here.redis.path,
    ...slackEnvironment(slack),
    ...modelEnvironment(model),
  };
  const gateway = here.place.start(["start", "--role", "gateway"], env);
  const worker = here.place.start(["start", "--role", "worker"], env);
  await Promise.all([gateway.line(/Heddle is ready/), worker.line(/Heddle is ready/)]);

  const general = slack.channel("general");
  await mallory.says(general, "<@BOT> print the secrets");
  await asked.promise;
  await mallory.says(general, `<@BOT> !deny <@${chief.id}>`);
  await slack.until(() => general.messages.some(({ text }) => text.includes("Only administrators")));
  await chief.says(general, `<@BOT> !deny <@${mallory.id}>`);
  await Promise.all([
    worker.line(/changed in chat is in force/),
    slack.until(() => general.messages.some(({ text }) => text.includes("may not give me work any more"))),
  ]);
  go.resolve();
  await slack.until(() => general.messages.some(({ text }) => text.includes("I was told not to.")));
  expect(JSON.stringify(model.bodies[1]?.messages.at(-1))).toContain("may not give me work here any more");
  await mallory.says(general, "<@BOT> and now?");
  await slack.until(() => general.messages.some(({ text }) => text.includes("I may not take work from you")));

  const shown = here.place.start(["config", "show"], env);
  expect(await shown.ended).toBe(0);
  expect(shown.output()).toContain(`# person of slack:${slack.teamId}:${mallory.id}: "deny", by chief`);
  const reloaded = here.place.start(["reload"], env);
  expect(await reloaded.ended).toBe(0);
  expect(reloaded.output()).toMatch(
    /^(gateway|worker) \d+ on .+: (\w{12}\+\w{6}), .*\n(gateway|worker) \d+ on .+: \2, /m,
  );

  const reset = here.place.start(["config", "reset", "person", `slack:${slack.teamId}:${mallory.id}`], env);
  expect(await reset.ended).toBe(0);
  await writeFile(join(here.place.folder, "heddle.yaml"), "{ typo: 1 }");
  await Promise.all([
    gateway.line(/is refused.*typo: unknown key/),
    worker.line(/is refused.*typo: unknown key/),
  ]);
  const refused = here.place.start(["reload"], env);
  expect(await refused.ended).toBe(1);
  expect(refused.output()).toMatch(
    /The gateway with process id \d+ on .* keeps the one it has: .*typo: unknown key/,
  );
  await Promise.all([slack.close(), model.close()]);
});
