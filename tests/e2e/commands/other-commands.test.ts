import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { text as read } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { keys } from "../../../src/queue/redis/keys.ts";
import { deliver } from "../../../src/queue/session/mailbox/mailbox.ts";
import { noonZone } from "../../fakes/noon.ts";
import { call, calling } from "../../adapters/console/sessions.ts";
import { useSetting } from "../hooks.ts";

const here = useSetting();
const root = resolve(import.meta.dirname, "../../..");

/** The demo model answers at once, where nobody looks at how it appears. */
const hurry = () => writeFile(join(here.place.folder, "heddle.yaml"), "demo: { stepDelayMs: 0 }");
const heddle = (args: string[], env: Record<string, string> = {}) =>
  here.place.start(args, { REDIS_URL: here.redis.path, ...env });

describe("Other commands", () => {
  test("threads lists and shows, stop says when there is nothing to stop", async () => {
    await hurry();
    await heddle(["run", "Write a calculator\u001b]0;and a title\u0007"]).ended;
    const list = heddle(["threads", "list"]);
    expect(await list.ended).toBe(0);
    const [, thread = ""] =
      /answered +(local:\S+) +\S+: Write a calculator\]0;and a title$/m.exec(list.output()) ?? [];
    const show = heddle(["threads", "show", thread]);
    expect(await show.ended).toBe(0);
    expect(show.output()).toContain("▸ `write_file` `calculator.py`");
    // Nothing that a stranger writes steers the operator's terminal.
    expect(show.output()).toContain("Write a calculator]0;and a title\n");
    const stop = heddle(["stop", thread]);
    expect(await stop.ended).toBe(1);
    expect(stop.output()).toContain("Nothing is running");
  });

  test("end also where the settings of a platform are found to be wrong after Redis was reached", async () => {
    const shown = heddle(["config", "show"], { SLACK_CLIENT_ID: "1.2" });
    expect(await shown.ended).toBe(1);
    expect(shown.output()).toMatch(/^heddle: SLACK_CLIENT_ID needs SLACK_CLIENT_SECRET/m);
    const stop = heddle(["stop", "slack:T1:C1:1.2"], { SLACK_CLIENT_ID: "1.2" });
    expect(await stop.ended).toBe(1);
    expect(stop.output()).toContain("Nothing is running");
  });

  test("say in one sentence that their output could not be written", async () => {
    const env = { PATH: process.env["PATH"], REDIS_URL: here.redis.path };
    const main = join(root, "src/main.ts");
    const program = spawn("sh", ["-c", 'exec "$@" >/dev/full', "sh", process.execPath, main, "usage"], {
      ...{ cwd: here.place.folder, env, stdio: ["ignore", "inherit", "pipe"] },
    });
    const [said, [code]] = await Promise.all([read(program.stderr), once(program, "exit")]);
    const sentence = "heddle: The output could not be written (ENOSPC): print it elsewhere.\n";
    expect([said, code]).toEqual([sentence, 1]);

    const thread = "slack:T1:C1:1.2";
    const message = { role: "user", id: "m1", author: { id: "U1", name: "Ada" }, text: "go on", at: 1 };
    await here.redis.client().rpush(keys.log(thread), JSON.stringify({ type: "user", message }));
    const exported = heddle(["threads", "export", thread, "/dev/full"]);
    expect(await exported.ended).toBe(1);
    expect(exported.output()).toBe(
      "heddle: A file could not be written (ENOSPC: no space left on device, write): make room there, or name another place.",
    );
  });

  test("threads list says how many there are beyond the limit, and reaches the oldest", async () => {
    const author = { id: "U1", name: "Ada" };
    const pipeline = here.redis.client().pipeline();
    for (let n = 0; n < 150; n += 1) {
      const thread = `slack:T1:C1:${n}.0`;
      const message = { role: "user", id: `m${n}`, author, text: `task ${n}.`, at: n };
      pipeline.rpush(keys.log(thread), JSON.stringify({ type: "user", message }));
      pipeline.zadd(keys.threads, n, thread);
    }
    await pipeline.exec();
    const list = heddle(["threads", "list"]);
    expect(await list.ended).toBe(0);
    expect(list.output()).toContain("Ada: task 149.");
    expect(list.output()).not.toContain("Ada: task 0.");
    expect(list.output()).toMatch(/\n100 of 150 threads; --limit 150 lists them all\.$/);
    const all = heddle(["threads", "list", "--limit", "150"]);
    expect(await all.ended).toBe(0);
    expect(all.output()).toContain("Ada: task 0.");
    expect(all.output()).not.toContain("lists them all");
  });

  test("threads shows the last part of a long thread, and the older one when asked for it", async () => {
    const thread = "slack:T1:C1:1.2";
    const author = { id: "U1", name: "Ada" };
    const records = Array.from({ length: 1_500 }, (_, n) => [
      JSON.stringify({ type: "turn-start", turn: `t${n}`, at: n }),
      JSON.stringify({
        type: "user",
        message: { role: "user", id: `m${n}`, author, text: `task ${n}.`, at: n },
      }),
    ]);
    await here.redis.client().rpush(keys.log(thread), ...records.flat());
    const show = heddle(["threads", "show", thread]);
    expect(await show.ended).toBe(0);
    expect(show.output()).toContain("task 1499.");
    expect(show.output()).not.toContain("task 100.");
    const [, before = ""] =
      /\(older: heddle threads show slack:T1:C1:1.2 --before (\d+)\)/.exec(show.output()) ?? [];
    // Counted from 1; each turn has two.
    const first = (Number(before) - 1) / 2;
    expect(show.output()).toContain(`task ${first}.`);
    const older = heddle(["threads", "show", thread, "--before", before]);
    expect(await older.ended).toBe(0);
    expect(older.output()).toContain(`task ${first - 1}.`);
    expect(older.output()).not.toContain(`task ${first}.`);
    const exported = heddle(["threads", "export", thread, "all.jsonl"]);
    expect(await exported.ended).toBe(0);
    const lines = (await readFile(join(here.place.folder, "all.jsonl"), "utf8")).trim().split("\n");
    expect(lines.map((line): unknown => JSON.parse(line))).toHaveLength(3_000);
    const wrong = heddle(["threads", "show", thread, "--before", "yesterday"]);
    expect(await wrong.ended).toBe(2);
  });

  test("threads lists and shows no half of a secret where it cuts a text", async () => {
    const author = { id: "U1", name: "Ada" };
    const token = `ghp_${"aB3d".repeat(9)}`;
    const tell = async (thread: string, before: number) => {
      const text = `${"so ".repeat(before)}${token} and more`;
      const records = [
        { type: "turn-start", turn: "t", at: 1 },
        { type: "user", message: { role: "user", id: "m", author, text, at: 1 } },
        calling(1, [call("c", "bash", { command: text })]),
      ];
      await here.redis.client().rpush(keys.log(thread), ...records.map((record) => JSON.stringify(record)));
      await here.redis.client().zadd(keys.threads, before, thread);
      return thread;
    };
    const threads = await Promise.all([16, 36, 62].map((before, n) => tell(`slack:T1:C1:1.${n}`, before)));
    const printed = [["list"], ["list", "--json"], ...threads.map((thread) => ["show", thread])];
    for (const args of printed) {
      const command = heddle(["threads", ...args]);
      expect(await command.ended).toBe(0);
      expect(command.output()).toContain("so so");
      expect(command.output()).not.toContain("aB3d");
    }
  });

  test("threads exports nothing of a thread in which no turn has started, and says so", async () => {
    const thread = "slack:T1:C1:1.3";
    const message = {
      role: "user",
      id: "m1",
      author: { id: "U1", name: "Ada" },
      text: "Paint",
      at: 1,
    } as const;
    await deliver(here.redis.client(), thread, message, { onlyIfSession: false, now: 1 });
    const exported = heddle(["threads", "export", thread, "none.jsonl"]);
    expect(await exported.ended).toBe(0);
    expect(exported.output()).toContain(`No turn has started in ${thread} yet: there are no records.`);
    expect(await readFile(join(here.place.folder, "none.jsonl"), "utf8")).toBe("");
    const unknown = heddle(["threads", "export", "slack:T1:C1:9.9"]);
    expect(await unknown.ended).toBe(2);
  });

  test("usage tells who has used what, and a task beyond the day's budget is not begun", async () => {
    const timeZone = noonZone();
    const settings = (budgets: object) =>
      writeFile(
        join(here.place.folder, "heddle.yaml"),
        JSON.stringify({ demo: { stepDelayMs: 0 }, budgets: { timeZone, ...budgets } }),
      );
    await settings({});
    expect(await heddle(["run", "Write a calculator"]).ended).toBe(0);
    await settings({ user: { tokens: 2_000 } });
    const run = heddle(["run", "Write a calculator"]);
    expect(await run.ended).toBe(3);
    expect(run.output()).toContain("Paused: the budget of 2,000 tokens a day for one person does not cover");
    const usage = heddle(["usage", "--by", "user", "--days", "1"]);
    expect(await usage.ended).toBe(0);
    expect(usage.output()).toMatch(/^user +turns +calls[^\n]*cost\nlocal:console:console +1 +4 /m);
    const byModel = heddle(["usage", "--by", "model", "--days", "1"]);
    expect(await byModel.ended).toBe(0);
    expect(byModel.output()).toMatch(/^model +turns [^\n]* liked +disliked\n[^\n]* 0 +0$/m);
    const wrong = heddle(["usage", "--by", "weather"]);
    expect(await wrong.ended).toBe(2);
  });

  test("manifest prints what Slack takes", async () => {
    const program = heddle(["manifest", "slack"]);
    expect(await program.ended).toBe(0);
    expect(program.output()).toContain("socket_mode_enabled: true");
  });
});
