import { afterEach, beforeEach, expect, test } from "vitest";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { newPlace, type Place } from "./program.ts";

let redis: TestRedis;
let place: Place;
beforeEach(async () => {
  redis = await startRedis();
  place = await newPlace();
});
afterEach(async () => {
  await place.clean();
  await redis.stop();
});

test("heddle health tells whether the Heddle of this host serves", async () => {
  const environment = { REDIS_URL: redis.path };
  const before = place.start(["health"], environment);
  expect([await before.ended, before.output()]).toEqual([1, expect.stringContaining("no sign of life")]);

  const gateway = place.start(["start", "--role", "gateway"], environment);
  await gateway.line(/Heddle is ready/);
  const during = place.start(["health"], environment);
  expect([await during.ended, during.output()]).toEqual([
    0,
    expect.stringMatching(/serving; no worker serves anywhere/),
  ]);
});
