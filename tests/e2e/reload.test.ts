import { rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { SettingsReport, SystemReport } from "../../src/operations/reports.ts";
import { runs, says } from "../fakes/anthropic-replies.ts";
import { startFakeAnthropic } from "../fakes/anthropic.ts";
import { closeServer, listen } from "../fakes/listen.ts";
import { modelEnvironment } from "./environment.ts";
import { useSetting } from "./hooks.ts";
import { patienceMs } from "./program.ts";

const here = useSetting();

/** As editors do it: a new file in place of the old one. */
async function save(text: string): Promise<void> {
  const path = join(here.place.folder, "heddle.yaml");
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

test("a file that is wrong changes nothing; a right one counts for a running turn's calls at once and for the rest with the next turn", {
  timeout: 3 * patienceMs,
}, async () => {
  const asked = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  let requests = 0;
  const model = await startFakeAnthropic({
    async replies() {
      requests += 1;
      if (requests === 1) {
        asked.resolve();
        await go.promise;
        return runs("echo forbidden-later");
      }
      return says("Done.");
    },
  });
  await save("agent: { instructions: Words of the first file. }\n");
  const program = here.place.start(["start"], { REDIS_URL: here.redis.path, ...modelEnvironment(model) });
  const line = await program.line(/console +http/);
  const api = `${(line.trim().split(/ +/)[1] ?? "").replace(/\/$/, "")}/api`;
  const say = (key: string) =>
    fetch(`${api}/threads/reload01/messages`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ text: "go on", key }),
    });
  expect((await say("12345678")).ok).toBe(true);
  await asked.promise;

  await save("agent: { instruction: misspelt }\n");
  await program.line(/refused, and what was in force stays.*agent\.instruction: unknown key/);
  const system = async () => (await (await fetch(`${api}/system`)).json()) as SystemReport;
  const ownHash = (await system()).configuration.processes[0]?.hash;
  expect((await system()).configuration.problems.join()).toMatch(/refuses .*instruction: unknown key/);
  const settings = async () => (await (await fetch(`${api}/v1/settings`)).json()) as SettingsReport;
  expect(await settings()).toMatchObject({
    file: join(here.place.folder, "heddle.yaml"),
    problem: expect.stringContaining("agent.instruction: unknown key"),
    settings: expect.arrayContaining([
      { name: "agent.instructions", value: "Words of the first file.", from: "file" },
    ]),
  });
  await save("");
  await program.line(/heddle\.yaml is gone or empty/);
  await save(
    `agent: { instructions: Words of the second file. }
sandbox: { memoryMb: 500 }
tools: { rules: [{ tool: bash, command: "echo *", action: deny, why: Not any more. }] }
`,
  );
  await program.line(/has changed and is in force.*need a restart: sandbox/);
  const [own] = (await system()).configuration.processes;
  expect(own).toMatchObject({ role: "gateway and worker", restart: ["sandbox"] });
  expect(own?.hash).not.toBe(ownHash);
  const now = await settings();
  expect(now).toMatchObject({ restart: ["sandbox"] });
  expect(now).not.toHaveProperty("problem");
  // It holds the key that the model's service takes.
  expect(JSON.stringify(now)).not.toContain(model.apiKey);
  go.resolve();
  await expect.poll(() => model.bodies.length, { timeout: patienceMs }).toBe(2);
  expect(JSON.stringify(model.bodies[1]?.messages.at(-1))).toContain("Not any more.");
  expect(JSON.stringify(model.bodies[1]?.system)).toContain("Words of the first file.");

  await expect
    .poll(async () => (await fetch(`${api}/sessions/local:console:main:reload01/timeline`)).text(), {
      timeout: patienceMs,
    })
    .toContain("Done.");
  expect((await say("12345679")).ok).toBe(true);
  await expect.poll(() => model.bodies.length, { timeout: patienceMs }).toBe(3);
  expect(JSON.stringify(model.bodies[2]?.system)).toContain("Words of the second file.");

  program.signal("SIGTERM");
  expect(await program.ended).toBe(0);
  await model.close();
});

test("a file that is saved while the program starts counts, and SIGHUP at that time ends nothing", async () => {
  const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const service = createServer((_request, response) => {
    asked.resolve();
    void go.promise.then(() => response.writeHead(404).end());
  });
  const model = { url: `http://127.0.0.1:${await listen(service)}`, apiKey: "test-key" };
  await save("agent: { instructions: Words of the first file. }\n");
  const environment = { REDIS_URL: here.redis.path, ...modelEnvironment(model) };
  const program = here.place.start(["start", "--role", "gateway"], environment);
  await asked.promise;
  await save("agent: { instructions: Words of the second file. }\n");
  program.signal("SIGHUP");
  go.resolve();
  await program.line(/The configuration has changed and is in force/);
  program.signal("SIGTERM");
  expect(await program.ended).toBe(0);
  await closeServer(service);
});

test("what runs can be stopped by a command while the file is wrong", { timeout: patienceMs }, async () => {
  const model = await startFakeAnthropic({
    replies: () => ({ ...says("Let me think about it"), breaks: { after: 4, how: "stall" } }),
  });
  const environment = { REDIS_URL: here.redis.path, ...modelEnvironment(model) };
  const program = here.place.start(["start"], environment);
  const line = await program.line(/console +http/);
  const sent = await fetch(
    `${(line.trim().split(/ +/)[1] ?? "").replace(/\/$/, "")}/api/threads/stop0001/messages`,
    {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ text: "go on", key: "12345678" }),
    },
  );
  expect(sent.ok).toBe(true);
  const { aborted } = await model.call(1);
  await save("agnet: {}\n");
  const thread = "local:console:main:stop0001";
  const stop = here.place.start(["stop", thread], environment);
  expect(await stop.ended).toBe(0);
  expect(stop.output()).toMatch(
    /^heddle: .*heddle\.yaml\): agnet: unknown key;.* A worker that runs carries the stop out/,
  );
  expect(stop.output()).toContain(`Stopping ${thread}; its receipt appears in the thread.`);
  await aborted;
  const again = here.place.start(["stop", "local:console:main:other001"], environment);
  expect(await again.ended).toBe(1);
  expect(again.output()).toContain("Nothing is running or waiting in local:console:main:other001.");
  program.signal("SIGTERM");
  expect(await program.ended).toBe(0);
  await model.close();
});

test("a file that can no longer be looked at ends nothing, and a start with it is refused", {
  timeout: patienceMs,
}, async () => {
  const path = join(here.place.folder, "heddle.yaml");
  const text = "agent: { instructions: Words of the file. }\n";
  await save(text);
  const program = here.place.start(["start"], { REDIS_URL: here.redis.path });
  await program.line(/console +http/);

  // A link to itself: as in a folder that was closed to the program's user, the system does not say whether it is there.
  await rm(path);
  await symlink("heddle.yaml", path);
  await program.line(/refused, and what was in force stays.*heddle\.yaml cannot be read \(ELOOP\)/);
  const next = here.place.start(["start"], { REDIS_URL: here.redis.path });
  expect(await next.ended).toBe(78);
  expect(next.output()).toMatch(/^heddle: \S+heddle\.yaml cannot be read \(ELOOP\); make it/);

  await save(text);
  await program.line(/The configuration is again what is in force/);
  program.signal("SIGTERM");
  expect(await program.ended).toBe(0);
});
