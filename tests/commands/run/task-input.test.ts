import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { readTaskInput } from "../../../src/commands/run/task-input.ts";

function read(words: string[], stdin: Readable & { isTTY?: boolean }, paths: string[] = []) {
  const warnings: string[] = [];
  const given = { words, paths, stdin, maxBytes: 100_000, patienceMs: 50 };
  return {
    warnings,
    input: readTaskInput({ ...given, warn: (sentence) => void warnings.push(sentence) }),
  };
}

const piped = (text: string | Buffer) => Readable.from([Buffer.from(text)]);

test("what is piped in is the task, or goes along with it as a file", async () => {
  expect(await read([], piped("Explain this\n")).input).toEqual({ text: "Explain this", files: [] });
  const { text, files } = await read(["Which", "error?"], piped("one\ntwo\n")).input;
  expect(text).toBe("Which error?");
  expect(files).toEqual([{ name: "stdin.txt", mediaType: "text/plain", data: Buffer.from("one\ntwo\n") }]);
});

test("a task that is piped in keeps its umlauts, also from a file that is not in UTF-8", async () => {
  expect((await read([], piped(Buffer.from("Grüße an Zoë", "latin1"))).input).text).toBe("Grüße an Zoë");
  expect((await read([], piped("\uFEFFGrüße aus 東京\n")).input).text).toBe("Grüße aus 東京");
});

test("a terminal is not read, and nothing piped is nothing that goes along", async () => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true });
  expect(await read(["Go"], terminal).input).toEqual({ text: "Go", files: [] });
  expect(await read(["Go"], Readable.from([])).input).toEqual({ text: "Go", files: [] });
});

test("a pipe that stays silent holds up no task in words, and says so", async () => {
  const { input, warnings } = read(["Go"], new PassThrough());
  expect(await input).toEqual({ text: "Go", files: [] });
  expect(warnings).toEqual(["Nothing came through the pipe within 0.05 s: going on without it."]);
});

test.each([
  [[], "", /^There is no task: /],
  [[], "x".repeat(30_000), /say what to do with it/],
  [["Go"], "x".repeat(200_000), /^Of what is piped in, more than .* MiB cannot go along\.$/],
])("refuses what it cannot take: %j", async (words, text, sentence) => {
  await expect(read(words, piped(text)).input).rejects.toThrow(sentence);
});

test("named files go along, and one that cannot be read is named", async () => {
  const folder = mkdtempSync(join(tmpdir(), "heddle-task-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "form.pdf"), "%PDF");
  const { files } = await read(["Go"], Readable.from([]), [join(folder, "form.pdf")]).input;
  expect(files).toMatchObject([{ name: "form.pdf", data: Buffer.from("%PDF") }]);
  await expect(read(["Go"], Readable.from([]), [folder]).input).rejects.toThrow(
    /--file .* it is a folder\.$/,
  );
  await expect(read(["Go"], Readable.from([]), [join(folder, "x")]).input).rejects.toThrow(/ENOENT/);
  // As a shell gives the output of a program, its size is not known beforehand.
  await expect(read(["Go"], Readable.from([]), ["/dev/zero"]).input).rejects.toThrow(
    /--file .* more than .* MiB cannot go along\.$/,
  );
});
