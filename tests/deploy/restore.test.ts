import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

/** deploy/restore.sh with a stand-in for Compose, whose gateway does at its start what Heddle does: it opens its key. */

const script = join(import.meta.dirname, "../../deploy/restore.sh");

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
