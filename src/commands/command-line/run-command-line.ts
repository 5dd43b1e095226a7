import { CommanderError } from "commander";
import { proxyVariables } from "../../agent/network/proxy-environment.ts";
import { asTyped } from "../../app/process/package-info.ts";
import { silences } from "../../queue/redis/silence.ts";
import { explainRefusal } from "../../queue/redis/unavailable.ts";
import { hasErrorCode } from "../../sandbox/system-error.ts";
import { createProgram } from "./program.ts";
import type { Needs } from "./runner.ts";

/** Failures with a sentence for people; everything else is a defect and keeps its stack. */
const expectedErrors = new Set([
  "ConfigError",
  "RedisUnavailable",
  "UsageError",
  "StartError",
  "ModelError",
  "McpConfigError",
  "AuditBusy",
  "AccountBusy",
  "DemoScriptError",
]);

/** Of `start`, whose configuration only a person can correct, so that nobody starts it again and again. EX_CONFIG of sysexits.h. */
const badConfigurationCode = 78;
const configurationErrors = new Set(["ConfigError", "McpConfigError", "ModelError", "DemoScriptError"]);

/** Runs the command that these arguments name, and turns failures into one sentence. Resolves with the exit code. */
export async function runCommandLine(argv: string[]): Promise<number> {
  await useProxy();
  let code = 0;
  let needed: Needs = {};
  // What is to be done is done all the same. Whoever reads the output may go before its end, as `head` does.
  process.stdout.on("error", ({ code: why, message }: NodeJS.ErrnoException) => {
    if (why === "EPIPE" || needed.serves) return;
    process.stderr.write(
      `heddle: The output could not be written (${why ?? message}): print it elsewhere.\n`,
    );
    process.once("exit", () => (process.exitCode = 1));
  });
  const program = createProgram(async (command, needs = {}) => {
    needed = needs;
    if (needs.redis) endWithoutRedis();
    code = await command();
  });
  if (argv.length === 0) {
    program.outputHelp();
    return 0;
  }
  try {
    await program.parseAsync(argv, { from: "user" });
    return code;
  } catch (error) {
    // It has said what is wrong; help and the version are no error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const failed = explainFailure(error, needed);
    // What serves has ended in order; a connection to a silent Redis that is still being made would keep the process.
    if (needed.serves) process.exit(failed);
    return failed;
  }
}

/** Node reads the variable when it starts, so newer ones are told again. Older ones hear of it in the processes that follow. */
async function useProxy(): Promise<void> {
  const variables = proxyVariables(process.env);
  if (variables["NODE_USE_ENV_PROXY"] === undefined) return;
  Object.assign(process.env, variables);
  // It loads Node's own fetch and HTTP/2, for which other commands need not wait.
  const http = await import("node:http");
  if ("setGlobalProxyFromEnv" in http) http.setGlobalProxyFromEnv();
}

function explainFullDisk(error: unknown): string | undefined {
  if (!hasErrorCode(error, "ENOSPC", "EDQUOT")) return undefined;
  return `A file could not be written (${error.message}): make room there, or name another place.`;
}

/** What waits for Redis would keep the process. */
function endWithoutRedis(): void {
  silences.subscribe(() => {
    process.stderr.write(
      "heddle: Redis takes connections and does not answer: look whether its server hangs, and at REDIS_URL. Then try again.\n",
    );
    process.exit(1);
  });
}

/** Prints a failure that a person can put right and gives its exit code; a defect is thrown on. */
function explainFailure(error: unknown, { serves }: Needs): number {
  if (error instanceof Error && expectedErrors.has(error.name)) {
    process.stderr.write(`heddle: ${asTyped(error.message)}\n`);
    if (error.name === "UsageError") return 2;
    return serves && configurationErrors.has(error.name) ? badConfigurationCode : 1;
  }
  const refusal = explainRefusal(error) ?? explainFullDisk(error);
  if (refusal === undefined) throw error;
  process.stderr.write(`heddle: ${refusal}\n`);
  return 1;
}
