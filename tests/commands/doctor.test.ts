import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { expect, test } from "vitest";
import { withDeadline } from "../../src/commands/doctor.ts";
import { checkNodeVersion } from "../../src/commands/doctor/checks.ts";
import { checkClockSkew, httpClockAheadMs } from "../../src/commands/doctor/clock.ts";
import { describeServer } from "../../src/commands/doctor/mcp.ts";
import { listenForTest } from "../fakes/listen-for-test.ts";

test("an older Node than package.json asks for is an error that says how to get a newer one", () => {
  const { engines } = JSON.parse(readFileSync("package.json", "utf8")) as { engines: { node: string } };
  const [, major, minor] = /^>=(\d+)\.(\d+)$/.exec(engines.node)?.map(Number) ?? [];
  expect(checkNodeVersion(`v${major}.${minor}.0`).level).toBe("ok");
  expect(checkNodeVersion(`v${Number(major) + 1}.0.0`).level).toBe("ok");
  expect(checkNodeVersion(`v${major}.${Number(minor) - 1}.3`)).toEqual({
    level: "error",
    text: expect.stringContaining(`older than ${major}.${minor}: start Heddle by npm start`),
  });
  expect(checkNodeVersion(`v${Number(major) - 1}.99.0`).level).toBe("error");
});

test("a check that hangs is a line with an error, and so is one that breaks", async () => {
  const hung = await withDeadline(20, () => new Promise(() => {}));
  expect(hung).toEqual([{ level: "error", text: expect.stringMatching(/^no result within 0.02 s/) }]);
  const broken = await withDeadline(1_000, () => Promise.reject(new Error("The disk is on fire.")));
  expect(broken).toEqual([{ level: "error", text: "The disk is on fire." }]);
});

test("a server that has not answered yet is said to be silent", () => {
  expect(describeServer({ server: "notes", state: "connecting", tools: [] }, "mcp.json")).toEqual({
    level: "warning",
    text: "notes: connecting, 0 tools. No answer within 8 s; correct its entry in mcp.json, or disable it",
  });
});

test("a check is told when its time is over", async () => {
  let heard: AbortSignal | undefined;
  await withDeadline(20, (signal) => {
    heard = signal;
    return new Promise(() => {});
  });
  if (heard?.aborted === false) await once(heard, "abort");
  expect(heard?.aborted).toBe(true);
});

test("the clock of an HTTP server is compared with ours by its date, whatever it answers", async () => {
  const server = createServer((_request, response) => {
    response.writeHead(404, { date: new Date(Date.now() + 60_000).toUTCString() }).end();
  });
  const url = await listenForTest(server);
  const before = Date.now();
  const ahead = await httpClockAheadMs(`${url}/`, AbortSignal.timeout(30_000));
  // The date may be from any moment in between, and is cut to seconds.
  expect(Math.abs(ahead - 60_000)).toBeLessThanOrEqual(1_000 + Date.now() - before);
  expect(checkClockSkew("Slack", ahead)).toEqual({
    level: "warning",
    text: expect.stringMatching(/^This machine's clock is \d+\.\d s behind Slack's: .*timedatectl/),
  });
  expect(checkClockSkew("Slack", -1_000).level).toBe("ok");
});
