import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createUnconfinedBackend } from "../../../src/sandbox/plain/backend.ts";
import { type Entries, listTools, poolOf, sharedFolder, stdioFixture, useSandboxes } from "./harness.ts";
import { repository } from "./repository.ts";

useSandboxes();

/** What the operator reads of a server that does not work. */
async function problemOf(
  entry: Entries[string],
  options: Parameters<typeof poolOf>[1] = {},
): Promise<string> {
  const pool = await poolOf({ shop: entry }, options);
  expect(await listTools(pool)).toEqual([]);
  return pool.status()[0]?.problem ?? "";
}

describe("a server that its sandbox keeps from working says what it lacks, and the line that gives it", () => {
  test("for a script that it does not see", async () => {
    const { command, args, env } = stdioFixture();
    const folder = join(repository, "tests/agent/mcp/servers");
    expect(await problemOf({ command, args, env })).toContain(
      `its sandbox does not have ${folder}: add "read": ["${folder}"] to "sandbox" of its entry`,
    );
  });

  test("for folders among its arguments", async () => {
    const folders = [sharedFolder(), sharedFolder()];
    const script = 'cat "$0"/file "${1#*=}"/file >&2 || exit 1';
    expect(
      await problemOf({ command: "sh", args: ["-c", script, folders[0], `--root=${folders[1]}`] }),
    ).toContain(`add "read": ["${folders[0]}", "${folders[1]}"] to "sandbox" of its entry`);
  });

  test("for a program that is in none of the system's folders", async () => {
    expect(await problemOf({ command: "no-such-program" })).toMatch(
      /exited with code 127.*a sandbox finds programs in \/usr\/local\/bin, \/usr\/bin, \/bin: install no-such-program there/,
    );
  });

  test("for hosts that it asked for", async () => {
    const script = `
      for (const host of ["packages.example", "api.example"]) await fetch("https://" + host).catch(() => {});
      console.error("cannot fetch"); process.exitCode = 1;
    `;
    const entry = {
      command: "node",
      args: ["--input-type=module", "-e", script],
      sandbox: { network: ["listed.example"] },
    };
    expect(await problemOf(entry)).toContain(
      'its sandbox does not reach packages.example, api.example: add "network": ["listed.example", "packages.example", "api.example"] to "sandbox" of its entry',
    );
  });

  test("for the engine of containers, which no sandbox has", async () => {
    expect(await problemOf({ command: "docker", args: ["run", "-i", "--rm", "example/server"] })).toMatch(
      /docker starts containers through its engine, which no sandbox reaches: say "sandbox": false in its entry/,
    );
  });

  test("and nothing is guessed of one that fails by itself", async () => {
    expect(await problemOf({ command: "sh", args: ["-c", "echo no database >&2; exit 3"] })).toBe(
      "its process exited with code 3; it wrote: no database",
    );
  });
});

test("a server sees neither the host's secrets nor the folder that it was started from", async () => {
  const look = `for path in /etc/shadow "$0/package.json"; do cat "$path" >/dev/null 2>&1 && echo seen >&2; done; exit 1`;
  const told = await problemOf({ command: "sh", args: ["-c", look, repository] });
  expect(told).toMatch(/exited with code 1/);
  expect(told).not.toContain("seen");
});

describe("without a sandbox", () => {
  const explained =
    /^it was not started, because there is no sandbox for it here \(.+\); see `heddle doctor`, or say "sandbox": false in its entry to run it as Heddle's own user/;

  test("no server starts, also where commands run without one", async () => {
    const folder = sharedFolder();
    const mark = join(folder, "mark");
    const backend = createUnconfinedBackend({ dataDir: folder });
    const entry = { command: "touch", args: [mark] };
    expect(await problemOf(entry, { sandboxes: backend })).toMatch(explained);
    await backend.close();
    expect(existsSync(mark)).toBe(false);
  });

  test("one whose entry says false starts as Heddle's own user", async () => {
    const pool = await poolOf({ shop: { ...stdioFixture(), command: process.execPath, sandbox: false } });
    expect((await listTools(pool)).length).toBe(9);
  });
});
