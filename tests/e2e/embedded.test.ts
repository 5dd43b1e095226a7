import { afterEach, beforeEach, expect, test } from "vitest";
import { type FakeSlack, startFakeSlack } from "../fakes/slack/fake-slack.ts";
import { pathWithoutRedis, slackEnvironment } from "./environment.ts";
import { newPlace, patienceMs, type Place } from "./program.ts";

let place: Place;
let slack: FakeSlack;
beforeEach(async () => {
  [place, slack] = await Promise.all([newPlace(), startFakeSlack({ patienceMs })]);
});
afterEach(async ({ task }) => {
  if (task.result?.state === "fail") console.error(place.outputs());
  await place.clean();
  await slack.close();
});

test("Without any Redis, Heddle serves Slack in production and says everywhere what a power loss may cost", async () => {
  const environment = {
    ...slackEnvironment(slack),
    NODE_ENV: "production",
    HEDDLE_MODEL: "demo",
    PATH: await pathWithoutRedis(place.folder),
  };
  const limits = /power loss (may take )?up to a second.*one machine only/;
  const program = place.start(["start"], environment);
  await program.line(limits);
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(await program.line(/http:\/\/127\.0\.0\.1:\d+/))?.[0] ?? "";
  await program.line(/Heddle is ready/);
  const [ready, system] = await Promise.all(
    ["/readyz", "/api/system"].map(async (path) => await (await fetch(`${url}${path}`)).text()),
  );
  expect(ready).toMatch(limits);
  expect(system).toMatch(limits);
  const doctor = place.start(["doctor"], environment);
  await doctor.ended;
  expect(doctor.output()).toMatch(limits);
});
