import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkDisk } from "../../src/sandbox/checks.ts";
import { dataFolder } from "./two-threads.ts";

test("the disk of a data folder that does not exist yet is that of the folder above it", async () => {
  const folder = join(dataFolder(), "not", "yet");
  expect(await checkDisk(folder, 0)).toEqual({ level: "ok", text: expect.stringContaining(folder) });
});

test("a disk below the limit is an error and one near it a warning, with what to do", async () => {
  const folder = dataFolder();
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const full = await checkDisk(folder, free * 2);
  expect(full).toEqual({ level: "error", text: expect.stringMatching(/sandbox\.freeMb.*make room/) });
  expect((await checkDisk(folder, free - 512 * 1024 ** 2)).level).toBe("warning");
});
