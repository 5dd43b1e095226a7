import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { keys } from "../../src/queue/redis/keys.ts";
import { call } from "../adapters/console/requests.ts";
import { freePort } from "../fakes/free-port.ts";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { examine, newPlace, type Place, patienceMs } from "./program.ts";
import { closeServer } from "../fakes/listen.ts";

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

test("heddle health tells whether this Heddle serves, and not another one of the same host", async () => {
  const environment = { REDIS_URL: redis.path };
  const before = place.start(["health"], environment);
  expect([await before.ended, before.output()]).toEqual([1, expect.stringContaining("no heartbeat")]);

  const gateway = place.start(["start", "--role", "gateway"], environment);
  await gateway.line(/Heddle is ready/);
  const during = place.start(["health"], environment);
  expect([await during.ended, during.output()]).toEqual([
    0,
    expect.stringMatching(/serving; no worker runs anywhere/),
  ]);
  // It goes on with what was in force.
  await writeFile(join(place.folder, "heddle.yaml"), "agnet: {}\n");
  const broken = place.start(["health"], environment);
  expect([await broken.ended, broken.output()]).toEqual([0, expect.stringMatching(/serving/)]);
  for (const other of [{ HEDDLE_PORT: "8421" }, { HEDDLE_DATA_DIR: "elsewhere" }]) {
    const health = place.start(["health"], { ...environment, ...other });
    expect([await health.ended, health.output()]).toEqual([1, expect.stringContaining("no heartbeat")]);
  }
});

test("An audit log that is required and cannot be written makes /readyz say no, and doctor names it", async () => {
  await writeFile(join(place.folder, "heddle.yaml"), "telemetry:\n  auditRequired: true\n");
  const environment = { REDIS_URL: redis.path, HEDDLE_MODEL: "demo" };
  const program = place.start(["start"], environment);
  const [, url = ""] = /console +(http\S+)/.exec(await program.line(/console +http/)) ?? [];
  await program.line(/Heddle is ready/);
  const readiness = async () => {
    const probe = await fetch(`${url}/readyz`);
    return JSON.stringify([probe.status, await probe.json()]);
  };
  expect(await readiness()).toMatch(/^\[200,/);
  // What is there is no log.
  await redis.client().set(keys.audit, "not a stream");
  await call(url, "/api/threads/abcdefgh/messages", { method: "POST", json: { text: "hi", key: "audited" } });
  await expect
    .poll(readiness, { timeout: patienceMs })
    .toBe('[503,{"error":"The audit log cannot be written: run heddle doctor."}]');
  const doctor = await examine(() => place.start(["doctor"], environment));
  expect(doctor.output()).toMatch(/^✗ redis .*The audit log cannot be .*WRONGTYPE/m);
});

test("doctor tells a taken port, as start does, and whether a Heddle has it: this one or another", async () => {
  const port = await freePort();
  const environment = { REDIS_URL: redis.path, HEDDLE_PORT: String(port) };
  const console = async (more: Record<string, string> = {}) => {
    const doctor = await examine(() => place.start(["doctor"], { ...environment, ...more }));
    return doctor.output().match(/^. console .*$/m)?.[0];
  };
  expect(await console()).toMatch(/^✓ console +127\.0\.0\.1:\d+ is free$/);

  const stranger = createServer((_request, response) => void response.end("hello")).listen(port, "127.0.0.1");
  await once(stranger, "listening");
  const taken =
    /The console cannot listen on 127\.0\.0\.1:\d+, because another program does: end it, or set HEDDLE_PORT/;
  expect(await console()).toMatch(new RegExp(`^✗ console +${taken.source}`));
  const start = place.start(["start", "--role", "gateway"], environment);
  expect([await start.ended, start.output()]).toEqual([1, expect.stringMatching(taken)]);
  await closeServer(stranger);

  await place.start(["start", "--role", "gateway"], environment).line(/Heddle is ready/);
  expect(await console()).toMatch(/^✓ console .* is served by this Heddle, which is running$/);
  expect(await console({ HEDDLE_DATA_DIR: "elsewhere" })).toMatch(
    /^✗ console .*because another Heddle does: end it/,
  );
});
