import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { prepareTarget } from "../../../src/commands/run/workspace-copy.ts";

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "heddle-out-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("an archive may be new or replace another, and a place where none can be is refused before the task", async () => {
  const folder = newFolder();
  const old = join(folder, "old.tar");
  writeFileSync(old, "old");
  mkdirSync(join(folder, "folder.tar"));
  for (const path of [old, join(folder, "new.tar")])
    expect(await prepareTarget(path)).toEqual({ kind: "archive", path });
  for (const name of ["nowhere/x.tar", "folder.tar", "old.tar/x.tar"])
    await expect(prepareTarget(join(folder, name))).rejects.toMatchObject({
      name: "UsageError",
      message: expect.stringMatching(/^Nothing can be written to .*\): name another file\.$/),
    });
});

test("a folder in /proc is refused: making one there never ends", async () => {
  const link = join(newFolder(), "link");
  symlinkSync("/proc", link);
  for (const path of ["/proc/x", join(link, "x")])
    await expect(prepareTarget(path)).rejects.toMatchObject({
      name: "UsageError",
      message: `--out ${path} cannot be used: nothing can be made in /proc.`,
    });
});
