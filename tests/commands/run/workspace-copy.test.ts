import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { copyWorkspace, prepareTarget } from "../../../src/commands/run/workspace-copy.ts";
import type { Workspaces } from "../../../src/sandbox/sandbox.ts";

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

test("what cannot be copied when the task is done is told in a sentence, and not as a defect", async () => {
  const [folder, file] = [newFolder(), join(newFolder(), "file")];
  writeFileSync(file, "in the way");
  const pack = async (_thread: string, archive: string) => {
    execFileSync("tar", ["-cf", archive, "-C", folder, "."], { stdio: "ignore" });
    return true;
  };
  // Of a host's workspaces it asks for nothing else.
  const workspaces = { export: pack } as unknown as Workspaces;
  const copy = (kind: "archive" | "folder", path: string) =>
    copyWorkspace(workspaces, "local:console:main:12345678", { kind, path });
  expect(await copy("folder", newFolder())).toBe(true);
  await expect(copy("folder", file)).rejects.toMatchObject({
    name: "UsageError",
    message: expect.stringMatching(/^Nothing can be written to \S+file \(tar: .*Not a directory\): name/),
  });
  await expect(copy("archive", join(file, "x.tar"))).rejects.toMatchObject({ name: "UsageError" });
});
