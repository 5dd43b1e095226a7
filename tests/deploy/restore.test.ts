import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

/**
 * deploy/backup.sh and deploy/restore.sh with a stand-in for Compose, whose gateway does at its start what Heddle does: it
 * opens its key.
 */

const deploy = join(import.meta.dirname, "../../deploy");
const script = join(deploy, "restore.sh");

const compose = `#!/bin/sh
cd "$(dirname "$0")"
start() {
  [ ! -e started ] || return 0
  [ -e data/audit.key ] || echo fresh >data/audit.key
  cat data/audit.key >started
}
case "$*" in
  "up --detach" | "up "*gateway*) start ;;
  *"--directory /data"*) tar --extract --directory data ;;
  exec*) cat >/dev/null ;;
esac
`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "heddle-restore-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("no part of Heddle runs before the files of the backup are there, its keys among them", () => {
  for (const name of ["backup", "kept", "data"]) mkdirSync(join(folder, name));
  writeFileSync(join(folder, "kept/audit.key"), "of the backup\n");
  execFileSync("tar", ["-cf", join(folder, "backup/data.tar"), "-C", join(folder, "kept"), "."]);
  writeFileSync(join(folder, "backup/redis.rdb"), "REDIS");
  writeFileSync(join(folder, "compose"), compose);
  chmodSync(join(folder, "compose"), 0o755);
  const env = { ...process.env, COMPOSE: join(folder, "compose") };
  execFileSync("sh", [script, join(folder, "backup")], { env });
  expect(readFileSync(join(folder, "started"), "utf8")).toBe("of the backup\n");
});

const [server = "", cli = ""] = ["server", "cli"].map((part) => {
  const found = spawnSync("sh", ["-c", `command -v valkey-${part} || command -v redis-${part}`]);
  return found.stdout.toString().trim();
});

const running: ChildProcess[] = [];
afterEach(() => {
  for (const process of running.splice(0)) process.kill("SIGKILL");
});

/** Starts a real server on the folder `valkey`, and resolves when it answers. */
async function serve(appendonly: "yes" | "no") {
  const socket = join(folder, "valkey/valkey.sock");
  const options = ["--port", "0", "--unixsocket", socket, "--appendonly", appendonly];
  const process = spawn(server, options, { cwd: join(folder, "valkey"), stdio: "ignore" });
  const client = new Redis(socket, { retryStrategy: () => 50, maxRetriesPerRequest: null });
  client.on("error", () => undefined);
  // Also those of a test that fails.
  running.push(process);
  await client.ping();
  const stop = async () => {
    client.disconnect();
    process.kill();
    await once(process, "exit");
  };
  return { client, stop };
}

/** Runs the script beside a Valkey that runs, of which the program for its terminal is a real one. */
function restoreInto() {
  mkdirSync(join(folder, "backup"));
  copyFileSync(join(folder, "kept.rdb"), join(folder, "backup/redis.rdb"));
  writeFileSync(join(folder, "backup/data.tar"), "");
  const socket = join(folder, "valkey/valkey.sock");
  writeFileSync(join(folder, "valkey-cli"), `#!/bin/sh\nexec ${cli} -s ${socket} "$@"\n`, { mode: 0o755 });
  const engine = `#!/bin/sh\n[ "$1" != exec ] || { cd ${folder}/valkey; shift 5; exec sh -ec "$1"; }\n`;
  writeFileSync(join(folder, "compose"), engine, { mode: 0o755 });
  const env = {
    ...process.env,
    PATH: `${folder}:${process.env["PATH"]}`,
    COMPOSE: join(folder, "compose"),
  };
  return spawnSync("sh", [script, join(folder, "backup")], { env, encoding: "utf8" });
}

describe.skipIf(server === "" || cli === "")("The snapshot", () => {
  beforeEach(async () => {
    mkdirSync(join(folder, "valkey"));
    const { client, stop } = await serve("no");
    await client.set("said", "before");
    await client.save();
    await stop();
    renameSync(join(folder, "valkey/dump.rdb"), join(folder, "kept.rdb"));
  });

  test.each(["of its own", "as Redis 6 leaves it"])(
    "is what Valkey serves, from a folder %s",
    async (which) => {
      const empty = await serve("yes");
      if (which !== "of its own")
        rmSync(join(folder, "valkey/appendonlydir"), { recursive: true, force: true });
      expect(restoreInto()).toMatchObject({ status: 0 });
      await empty.stop();
      const restored = await serve("yes");
      expect(await restored.client.get("said")).toBe("before");
      await restored.client.set("said", "after");
      await restored.stop();
      const again = await serve("yes");
      expect(await again.client.get("said")).toBe("after");
      await again.stop();
    },
  );

  test("is refused by a Valkey without an append-only file, which would write over it", async () => {
    const empty = await serve("no");
    expect(restoreInto()).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^Valkey keeps no append-only file: start it with --appendonly yes/),
    });
    await empty.stop();
  });
});

test("a backup that fails leaves the one before it as it was", () => {
  const engine = (does: string) => {
    writeFileSync(join(folder, "compose"), `#!/bin/sh\n${does}\n`, { mode: 0o755 });
    const env = { ...process.env, COMPOSE: join(folder, "compose") };
    return () =>
      execFileSync("sh", [join(deploy, "backup.sh"), join(folder, "backup")], { env, stdio: "pipe" });
  };
  engine('case "$*" in *valkey*) echo REDIS ;; *) echo files ;; esac')();
  const kept = () =>
    ["redis.rdb", "data.tar"].map((name) => readFileSync(join(folder, "backup", name), "utf8"));
  expect(kept()).toEqual(["REDIS\n", "files\n"]);
  expect(engine('case "$*" in *valkey*) echo HALF; exit 1 ;; esac')).toThrow();
  expect(kept()).toEqual(["REDIS\n", "files\n"]);
  expect(engine('case "$*" in *valkey*) echo NEW ;; *) echo half; exit 1 ;; esac')).toThrow();
  expect(kept()).toEqual(["REDIS\n", "files\n"]);
});
