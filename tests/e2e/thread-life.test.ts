import { execFile } from "node:child_process";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { HeddleClient } from "../../src/client/index.ts";
import { keys } from "../../src/queue/redis/keys.ts";
import { useSetting } from "./hooks.ts";
import { patienceMs } from "./program.ts";

/** What becomes of a thread, from its first message until nobody knows of it: with the program as it is started. */

const here = useSetting();
const own = "a-token-of-the-console";
const environment = () => ({ REDIS_URL: here.redis.path, HEDDLE_CONSOLE_TOKEN: own });
const heddle = async (...args: string[]) => {
  const program = here.place.start(args, environment());
  return { code: await program.ended, output: program.output() };
};
const configure = (settings: object) =>
  writeFile(
    join(here.place.folder, "heddle.yaml"),
    JSON.stringify({ demo: { stepDelayMs: 0 }, ...settings }),
  );
const start = async () => {
  const program = here.place.start(["start"], environment());
  await program.line(/Heddle is ready/);
  const url = /console +(\S+)/.exec(await program.line(/^ +console /))?.[1] ?? "";
  return { program, url };
};
/** Does something in a thread of its own, and waits for the answer. */
const work = async (client: HeddleClient) => {
  const started = await client.start("Write a calculator in Python with a README");
  for await (const _ of client.follow(started.id)) continue;
  return started;
};
/** Names of the keys that are this thread's, without what remembers that it was deleted. */
const keysOf = async (id: string) => (await here.redis.client().keys("*")).filter((key) => key.includes(id));
/** How many threads have files on this host, wherever these are. */
const countWorkspaces = async () => {
  const names = await readdir(join(here.place.folder, "data"), { recursive: true });
  return names.filter((name) => name.endsWith("/calculator.py")).length;
};

describe("a thread", () => {
  test("is named, put away, saved and deleted by a person, who is forgotten in the end", async () => {
    await configure({});
    const token = /^heddle_\S+$/m.exec(
      (await heddle("tokens", "create", "ada", "--role", "operator")).output,
    )?.[0];
    const { program, url } = await start();
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const { id, thread } = await work(new HeddleClient({ url, token: token ?? "" }));
    const at = (verb: string) => new URL(`/api/v1/sessions/${encodeURIComponent(thread)}/${verb}`, url);
    const post = async (verb: string, body: object) =>
      (await fetch(at(verb), { method: "POST", headers, body: JSON.stringify(body) })).status;
    const list = async (query: string) =>
      (await (await fetch(new URL(`/api/v1/sessions?${query}`, url), { headers })).json()) as {
        lines: { title: string }[];
      };

    expect(await post("title", { title: "The calculator" })).toBe(200);
    expect(await list("words=calculator")).toMatchObject({ lines: [{ title: "The calculator" }] });
    expect(await post("archive", { archived: true })).toBe(200);
    expect(await list("words=calculator")).toMatchObject({ lines: [] });
    expect(await list("words=calculator&state=archived")).toMatchObject({ lines: [{ archived: true }] });

    const save = async (format: string) =>
      await (await fetch(at(`export?format=${format}`), { headers })).bytes();
    expect(Buffer.from(await save("markdown")).toString()).toMatch(/^# The calculator\n[^]*## ada · /);
    expect(JSON.parse(Buffer.from(await save("json")).toString())).toMatchObject({ thread });
    const archive = join(here.place.folder, "thread.tar");
    await writeFile(archive, await save("tar"));
    const { stdout } = await promisify(execFile)("tar", ["-tf", archive]);
    expect(stdout.split("\n")).toEqual(
      expect.arrayContaining([
        expect.stringContaining("README.md"),
        "heddle-thread.md",
        "heddle-thread.json",
      ]),
    );

    expect(await keysOf(id)).not.toEqual([]);
    expect(await countWorkspaces()).toBe(1);
    expect(await heddle("threads", "delete", thread)).toMatchObject({
      ...{ code: 0, output: expect.stringContaining("Deleted, with its journal, files and notes.") },
    });
    expect(await keysOf(id)).toEqual([]);
    await expect.poll(countWorkspaces, { timeout: patienceMs }).toBe(0);
    expect((await fetch(at("timeline"), { headers })).status).toBe(404);
    expect((await list("words=calculator&state=archived")).lines).toEqual([]);
    const conversation = await fetch(new URL(`/api/v1/threads/${id}`, url), { headers });
    expect(await conversation.text()).not.toContain("Write a calculator");
    expect(await heddle("threads", "delete", thread)).toMatchObject({
      ...{ code: 2, output: expect.stringContaining("There is no session of") },
    });

    const busy = await new HeddleClient({ url, token: token ?? "" }).start("Sleep for ten minutes");
    await expect
      .poll(async () => (await list("state=running")).lines.length, { timeout: patienceMs })
      .toBe(1);
    expect(await heddle("threads", "delete", busy.thread)).toMatchObject({
      ...{ code: 1, output: expect.stringContaining("stop it first, then delete it") },
    });
    expect(await keysOf(busy.id)).not.toEqual([]);

    program.signal("SIGTERM");
    await program.ended;
    const before = await heddle("audit", "show", "--thread", thread);
    for (const what of ["asked", "thread-renamed", "thread-archived", "thread-exported", "thread-deleted"])
      expect(before.output).toMatch(new RegExp(`${what} .*"thread":"${thread}"`));
    expect(before.output).toContain('"name":"ada"');
    expect(await heddle("people", "forget", "ada")).toMatchObject({ code: 0 });
    const after = await heddle("audit", "show", "--thread", thread);
    expect(after.output).toContain('"name":"(forgotten)"');
    expect(after.output).not.toContain('"ada"');
    expect(await heddle("audit", "verify")).toMatchObject({
      ...{ code: 0, output: expect.stringContaining("The audit log is intact") },
    });
  });

  test("goes by itself when its channel's days are over, and a younger one stays", async () => {
    await configure({ channels: { "local:console:main": { keepDays: 7 } } });
    const first = await start();
    const client = new HeddleClient({ url: first.url, token: own });
    const [old, young] = [await work(client), await work(client)];
    first.program.signal("SIGTERM");
    await first.program.ended;
    const redis = here.redis.client();
    await redis.zadd(keys.threads, Date.now() - 8 * 86_400_000, old.thread);
    // The first start has looked in this hour.
    await redis.del(keys.forgetting);

    expect(await countWorkspaces()).toBe(2);

    const second = await start();
    await expect.poll(() => redis.zscore(keys.threads, old.thread), { timeout: patienceMs }).toBeNull();
    await expect.poll(() => keysOf(old.id), { timeout: patienceMs }).toEqual([]);
    await expect.poll(countWorkspaces, { timeout: patienceMs }).toBe(1);
    expect(await redis.zscore(keys.threads, young.thread)).not.toBeNull();
    second.program.signal("SIGTERM");
    await second.program.ended;
    expect((await heddle("audit", "show", "--thread", old.thread)).output).toMatch(
      /thread-deleted .*"name":"Heddle"/,
    );
  });
});
