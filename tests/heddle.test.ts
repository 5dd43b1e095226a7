import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

const program = join(import.meta.dirname, "../src/heddle.js");

/** A real one where this machine has it. */
const system = spawnSync("/usr/bin/node", ["--version"], { encoding: "utf8" }).stdout ?? "";
const isOld = /^v(1\d|20|21)\./.test(system);

const pretends = (version: string) =>
  `data:text/javascript,Object.defineProperty(process.versions, "node", { value: "${version}" })`;

test.each([
  ["20.1.0", process.execPath, ["--import", pretends("20.1.0")]],
  ["22.18.9", process.execPath, ["--import", pretends("22.18.9")]],
  ...(isOld ? [[system.trim().slice(1), "/usr/bin/node", []] as const] : []),
] as const)("Node %s says in one sentence which one is needed", (version, node, options) => {
  const { status, stdout, stderr } = spawnSync(node, [...options, program, "start"], { encoding: "utf8" });
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(
    /^heddle: Node \S+ is older than 22\.19, which Heddle needs: [^\n]*https:[^\n]*\.\n$/,
  );
  expect(stderr).toContain(`Node ${version} `);
});

test("A Node that is new enough runs the command line", () => {
  const { status, stdout } = spawnSync(process.execPath, [program, "start", "--help"], { encoding: "utf8" });
  expect([status, stdout]).toEqual([0, expect.stringContaining("Usage: heddle start")]);
});
