import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { newPlace, type Place } from "./program.ts";

let redis: TestRedis;
let place: Place;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  place = await newPlace();
});
afterEach(async ({ task }) => {
  if (task.result?.state === "fail") console.error(place.outputs());
  await place.clean();
});

const settings = `
tools:
  rules:
    - { tool: record_note, action: ask, why: Notes are for everybody. }
demo:
  scripts: scripts
`;

const script = `
steps:
  - calls:
      - tool: record_note
        input: { content: "The sky is blue." }
      - tool: ask_user
        input: { question: "Which colour?", choices: [Red, Blue] }
  - text: "{{result:2}} / {{result:1}}"
`;

test("heddle run without anybody at the terminal denies what must be approved, and says that nobody answers", async () => {
  await mkdir(join(place.folder, "scripts"));
  await writeFile(join(place.folder, "heddle.yaml"), settings);
  await writeFile(join(place.folder, "scripts", "all.yaml"), script);
  const program = place.start(["run", "note it"], { REDIS_URL: redis.path });
  expect(await program.ended).toBe(0);
  expect(program.output()).toMatch(/May I run record_note\? Notes are for everybody\./);
  expect(program.output()).toMatch(
    /DENIED by .*Nobody is at the terminal to approve it\. \/ .* answered: Nobody/,
  );
});
