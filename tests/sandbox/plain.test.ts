import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { openSandboxBackend } from "../../src/app/sandbox.ts";
import { loadConfig } from "../../src/config/load.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import type { SandboxBackend } from "../../src/sandbox/sandbox.ts";
import { processesWith } from "../e2e/processes.ts";
import { firstOutput, output, secret, uniqueSeconds } from "./two-threads.ts";

let folder = "";
let backend: SandboxBackend | undefined;
afterEach(async () => {
  await backend?.close();
  backend = undefined;
  rmSync(folder, { recursive: true, force: true });
});

function unconfined(env?: Record<string, string>): SandboxBackend {
  folder = mkdtempSync(join(tmpdir(), "heddle-plain-"));
  return unconfinedIn(folder, env);
}

function unconfinedIn(place: string, env: Record<string, string> = { HEDDLE_UNSAFE: "no-sandbox" }) {
  const config = loadConfig(env, place);
  const settings = settingsSchema.parse({ sandbox: { backend: "none", commandSeconds: 20 } });
  return (backend = openSandboxBackend({ ...config, settings }));
}

describe("No sandbox", () => {
  test.each([
    [{}, /HEDDLE_UNSAFE=no-sandbox/],
    [
      { HEDDLE_UNSAFE: "no-sandbox", SLACK_BOT_TOKEN: "xoxb-1" },
      /nobody else may give work; unset SLACK_BOT_TOKEN/,
    ],
    [{ HEDDLE_UNSAFE: "no-sandbox", DISCORD_TOKEN: "x" }, /unset DISCORD_TOKEN/],
    [{ HEDDLE_UNSAFE: "no-sandbox", HEDDLE_HOST: "0.0.0.0" }, /unset HEDDLE_HOST/],
  ])("is refused with %o", (env, message) => {
    expect(() => unconfined(env)).toThrow(message);
  });

  test("is announced wherever the sandbox is named, and to the model", async () => {
    const { ok, summary, problems } = await unconfined().probe();
    expect([ok, summary]).toEqual([true, expect.stringMatching(/^NO SANDBOX/)]);
    expect(problems[0]?.what).toMatch(/^NO SANDBOX/);
    expect(backend?.note("local:w:c:1")).toMatch(/^There is no sandbox/);
  });

  test("runs commands in the thread's folder, without the bot's environment, and handles its files", async () => {
    process.env.SLACK_BOT_TOKEN = secret;
    const sandbox = await unconfined().open("local:w:c:1");
    expect(await output(sandbox, "env; echo text >file; pwd")).not.toContain(secret);
    delete process.env.SLACK_BOT_TOKEN;
    expect(await sandbox.readFile("/workspace/file")).toMatchObject({
      ok: true,
      data: Buffer.from("text\n"),
    });
    expect(await sandbox.writeFile("a/b", Buffer.from("x"))).toMatchObject({ ok: true });
    expect(await sandbox.listFiles()).toMatchObject({
      entries: [{ path: "a" }, { path: "a/b" }, { path: "file" }],
    });
    expect(await output(sandbox, "cat a/b; exit 3")).toBe("x");
    expect((await sandbox.exec({ command: "exit 3" })).exitCode).toBe(3);
  });

  test("has the Node that runs Heddle, whatever the host has", async () => {
    const path = process.env.PATH;
    process.env.PATH = "/usr/bin:/bin";
    try {
      const sandbox = await unconfined().open("local:w:c:1");
      expect(await output(sandbox, "node --version")).toBe(process.version);
    } finally {
      process.env.PATH = path;
    }
  });

  test("goes on with a thread whose commands have left folders where files are written", async () => {
    const sandbox = await unconfined().open("local:w:c:1");
    await output(sandbox, "mkdir -p ../new/left/deep; touch -d '1 hour ago' ../new/left");
    await backend?.close();
    const again = await unconfinedIn(folder).open("local:w:c:1");
    expect(await output(again, "ls ../new")).toBe("");
  });

  test("ends a command by time, output and stop, with what it started", async () => {
    const sandbox = await unconfined().open("local:w:c:1");
    expect((await sandbox.exec({ command: "sleep 60", timeoutMs: 200 })).end).toBe("timeout");
    expect((await sandbox.exec({ command: "yes", maxOutputBytes: 1000 })).end).toBe("output");
    const seconds = uniqueSeconds();
    const started = await sandbox.start({ command: `sleep ${seconds} & sleep ${seconds} & echo up; wait` });
    if (!started.ok) throw new Error(started.message);
    await firstOutput(started.job);
    expect(await sandbox.killAll()).toMatchObject({ commands: 1, survivors: 0 });
    expect(processesWith(seconds)).toEqual([]);
    await output(sandbox, `sleep ${seconds} & echo left behind`);
    expect(processesWith(seconds)).toEqual([]);
  });

  test("archives and restores a workspace all the same", async () => {
    const opened = unconfined();
    await output(await opened.open("local:w:c:1"), "echo x >kept");
    const workspaces = await opened.workspaces();
    expect(await workspaces.clean({ idleMs: 0, archiveMs: 1e12 })).toMatchObject({
      archived: ["local:w:c:1"],
    });
    expect(await output(await opened.open("local:w:c:1"), "cat kept")).toBe("x");
  });

  test("removes a workspace with its archive for good, unless it was used since", async () => {
    const opened = unconfined();
    const [id, archived] = ["local:w:c:2", "local:w:c:3"];
    const workspaces = await opened.workspaces();
    await output(await opened.open(archived), "echo x >kept");
    await workspaces.clean({ idleMs: 0, archiveMs: 1e12 });
    await output(await opened.open(id), "echo x >kept");
    expect(await workspaces.remove(id, 0)).toBe(true);
    expect(await output(await opened.open(id), "ls")).toBe("kept");
    for (const thread of [id, archived]) expect(await workspaces.remove(thread, Date.now())).toBe(true);
    const left = (await workspaces.list()).map(({ threadId }) => threadId);
    expect(left.filter((thread) => [id, archived].includes(thread))).toEqual([]);
    expect(await output(await opened.open(id), "ls")).toBe("");
  });
});
