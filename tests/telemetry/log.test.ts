import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

/** What a process writes that logs `error`, a JavaScript expression. */
function logged(error: string, terminal = false): string {
  const script = `
    import { createLog } from "./src/telemetry/log.ts";
    import { createMasker } from "./src/agent/secrets/mask-secrets.ts";
    import { DiscordAPIError } from "discord.js";
    createLog("info", createMasker(["correct horse"]), { terminal: ${terminal} }).error({ err: ${error} }, "it failed");`;
  const { stderr } = spawnSync(process.execPath, ["--input-type=module-typescript", "--eval", script], {
    encoding: "utf8",
    timeout: 20_000,
  });
  return stderr;
}

test("An error is logged with its causes and code, and without the request that a client has hung on it", () => {
  const line = logged(`new Error("not shown", {
    cause: new DiscordAPIError({ message: "Unknown interaction", code: 10062 }, 10062, 404, "PATCH",
      "https://discord.test/webhooks/1/interaction-token", { body: { content: "what somebody wrote" } }),
  })`);
  expect(JSON.parse(line)).toMatchObject({
    msg: "it failed",
    err: { message: "not shown: Unknown interaction" },
  });
  const bare = logged(`Object.assign(new Error("broken by correct horse"), {
    code: "ECONNRESET", config: { headers: ["interaction-token"] }, command: { args: ["what somebody wrote"] },
  })`);
  expect(JSON.parse(bare)).toMatchObject({ err: { message: "broken by [masked]", code: "ECONNRESET" } });
  for (const text of [line, bare]) expect(text).not.toMatch(/interaction-token|what somebody wrote/);
});

test("On a terminal an error stays one line and commands the terminal nothing", () => {
  const line = logged(
    String.raw`new Error("bad name \u001b]0;owned\u0007\n12:00:00 info all is well")`,
    true,
  );
  expect(line).toMatch(/^\d\d:\d\d:\d\d error it failed: bad name .*owned 12:00:00 info all is well\n$/);
  expect(line.slice(0, -1)).not.toMatch(/\p{Cc}/u);
});
