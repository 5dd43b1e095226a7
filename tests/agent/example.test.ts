import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const example = resolve(import.meta.dirname, "../../examples/library.ts");

test("The example runs the agent as a library, with a tool of its own, in under 40 lines", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [example], {
    cwd: resolve("/"),
    env: {},
    timeout: 20_000,
  });
  expect(stdout).toMatch(/^… weather\n[\s\S]*Ada, here is what I found: 21 °C and sunny in Oslo\.\n$/);
  expect(readFileSync(example, "utf8").trimEnd().split("\n").length).toBeLessThan(40);
});
