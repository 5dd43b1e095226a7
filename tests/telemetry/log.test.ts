import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

/** What a process writes that logs `error`, a JavaScript expression. */
function logged(error: string): string {
  const script = `
    import { createLog } from "./src/telemetry/log.ts";
    import { createMasker } from "./src/agent/context/mask.ts";
    import { DiscordAPIError } from "discord.js";
    createLog("info", createMasker(["correct horse"]), { terminal: false }).error({ err: ${error} }, "it failed");`;
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
