import { join } from "node:path";
import { expect, test } from "vitest";
import { HeddleClient } from "../../../src/client/index.ts";
import { startFakeAnthropic } from "../../fakes/anthropic.ts";
import { says } from "../../fakes/anthropic-replies.ts";
import { modelEnvironment } from "../environment.ts";
import { useSetting } from "../hooks.ts";
import { copyClone } from "../installations.ts";
import { patienceMs } from "../program.ts";

/** What `npm start` runs, from a copy of this repository. */

const here = useSetting();

test("without bubblewrap, npm start serves, says what is missing and how to get it, and a task is answered", {
  timeout: patienceMs,
}, async () => {
  const model = await startFakeAnthropic({
    replies: (body) => {
      expect(body.tools?.map(({ name }) => name)).not.toContain("bash");
      return says("Seven.");
    },
  });
  const token = "a-token-of-the-console";
  const script = join(await copyClone(here.place.folder), "scripts/heddle.js");
  const program = here.place.startWithout(
    "bwrap",
    ["start"],
    {
      ...{ REDIS_URL: here.redis.path, HEDDLE_NO_INSTALL: "1", HEDDLE_CONSOLE_TOKEN: token },
      ...modelEnvironment(model),
    },
    script,
  );
  expect(await program.line(/^heddle: bubblewrap, .* is not installed/)).toContain("no shell and no files");
  expect(await program.line(/^ {2}sandbox /)).toContain("none: the agent has no shell and no files");
  const [fix = ""] = /Install it: .*/.exec(await program.line(/^ {11}bubblewrap was not found/)) ?? [];
  expect(fix).toContain("apt-get install bubblewrap");
  const [url = ""] = /http\S+/.exec(await program.line(/^ {2}console /)) ?? [];
  const headers = { authorization: `Bearer ${token}` };
  expect((await fetch(url)).status).toBe(200);
  expect(await (await fetch(new URL("/api/system", url), { headers })).text()).toContain(fix);

  const heddle = new HeddleClient({ url, token });
  const { id } = await heddle.start("What is three and four?");
  const told: unknown[] = [];
  for await (const event of heddle.follow(id)) if (event.event === "entries") told.push(...event.entries);
  expect(JSON.stringify(told)).toContain("Seven.");
  expect(JSON.stringify(model.bodies[0]?.system)).toContain(fix);
  program.signal("SIGTERM");
  expect(await program.ended).toBe(0);
  await model.close();
});
