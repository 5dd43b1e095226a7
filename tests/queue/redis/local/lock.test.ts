import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { withLock } from "../../../../src/queue/redis/local/socket.ts";

let folder = "";
const address = () => join(folder, "lock");

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-lock-"));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

/** A process that holds the lock until it is killed. */
async function holder() {
  const module = new URL("../../../../src/queue/redis/local/socket.ts", import.meta.url);
  const program = `
    const { withLock } = await import(${JSON.stringify(module)});
    await withLock(${JSON.stringify(address())}, () => new Promise(() => console.log("held")));`;
  const node = ["--input-type=module", "-e", program];
  const child = spawn(process.execPath, node, { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return child;
}

describe("the lock of the data folder", () => {
  test("lets one in at a time, and is left behind by nobody", async () => {
    let inside = 0;
    const most = await Promise.all(
      Array.from({ length: 20 }, () =>
        withLock(address(), async () => {
          inside++;
          await new Promise(setImmediate);
          const seen = inside;
          inside--;
          return seen;
        }),
      ),
    );
    expect(Math.max(...most)).toBe(1);
    expect(existsSync(address())).toBe(false);
  });

  test("is free again when the work fails", async () => {
    await expect(withLock(address(), () => Promise.reject(new Error("work")))).rejects.toThrow("work");
    expect(await withLock(address(), async () => "next")).toBe("next");
  });

  test("is inherited at once from a holder that is killed", async () => {
    const child = await holder();
    let got = false;
    const waiting = withLock(address(), async () => void (got = true));
    expect(got).toBe(false);
    child.kill("SIGKILL");
    await waiting;
    expect(got).toBe(true);
  });

  test("is free when its holder died long ago", async () => {
    const child = await holder();
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(existsSync(address())).toBe(true);
    expect(await withLock(address(), async () => "next")).toBe("next");
  });
});
