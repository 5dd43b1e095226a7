import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { writeOutput } from "../../src/commands/output-file.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "heddle-output-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

test("what is exported takes the place of an earlier file when it is whole, for its owner alone", async () => {
  const file = join(folder, "june.jsonl");
  writeFileSync(file, "earlier", { mode: 0o644 });
  const seen = await writeOutput(file, async (out) => {
    await pipeline(Readable.from(["now"]), out);
    return readFileSync(file, "utf8");
  });
  expect([seen, readFileSync(file, "utf8")]).toEqual(["earlier", "now"]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(["june.jsonl"]);
});

test("an export that fails leaves an earlier one as it was, and nothing beside it", async () => {
  const [file, link] = [join(folder, "june.jsonl"), join(folder, "latest")];
  writeFileSync(file, "earlier");
  symlinkSync(file, link);
  const failing = async function* () {
    yield "half";
    throw new Error("Redis is away");
  };
  for (const path of [file, link, join(folder, "new")])
    await expect(writeOutput(path, (out) => pipeline(failing, out))).rejects.toThrow("Redis is away");
  expect(readFileSync(file, "utf8")).toBe("earlier");
  expect(readdirSync(folder).toSorted()).toEqual(["june.jsonl", "latest"]);
});

test("a device is written to, and a folder refused", async () => {
  await writeOutput("/dev/null", (out) => pipeline(Readable.from(["x"]), out));
  await expect(writeOutput(folder, (out) => pipeline(Readable.from(["x"]), out))).rejects.toThrow(
    /^Nothing can be written to .* \(EISDIR.*\): name another file\.$/,
  );
});
