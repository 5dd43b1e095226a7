import { McpConfigError } from "../agent/mcp/config.ts";
import type { CommandContext } from "../app/command-context.ts";
import { asTyped } from "../app/process/package-info.ts";
import type { Finding } from "../chat/adapter.ts";
import { ConfigError } from "../config/config-error.ts";
import { createCommandContext } from "./context.ts";
import { checks } from "./doctor/checks.ts";
import { askDestinations, createLiveChecks, liveLimitMs, parseDestinations } from "./doctor/live.ts";
import { UsageError } from "./usage-error.ts";

/** How long a check may take, in milliseconds. */
const limitMs = 10_000;

const signs = { ok: "✓", note: "·", warning: "!", error: "✗" };

/** Checks everything that Heddle needs, prints a line each, and gives 1 when something is an error. */
export async function runDoctor(values: {
  json?: true;
  live?: true;
  post?: readonly string[];
}): Promise<number> {
  const { post = [] } = values;
  if (post.length > 0 && !values.live) throw new UsageError("--post goes with --live.");
  const named = parseDestinations(post);
  const setup = await prepare();
  const asks = values.live && !values.json && process.stdin.isTTY && process.stderr.isTTY;
  const destinations = asks && "config" in setup ? await askDestinations(setup.config, named) : named;
  const live = values.live ? createLiveChecks(destinations) : [];
  const all = [
    ...checks.map((check) => ({ limitMs, ...check })),
    ...live.map((check) => ({ ...check, limitMs: liveLimitMs })),
  ];
  const mask = (text: string) => ("masker" in setup ? setup.masker.mask(text) : text);
  // All at once; the lines come in the order of the list.
  const running =
    "masker" in setup
      ? all.map(async ({ what, run, limitMs: ms }) => ({
          what,
          findings: await withDeadline(ms, (signal) => run(setup, signal)),
        }))
      : [Promise.resolve({ what: "settings", findings: [setup] })];
  const report = await printFindings(running, mask, values);
  const ok = report.every(({ level }) => level !== "error");
  if (values.json) process.stdout.write(`${JSON.stringify({ ok, findings: report })}\n`);
  // A check that hangs must not keep the program; one that tidies up has a moment for it.
  setTimeout(() => process.exit(), 500).unref();
  return ok ? 0 : 1;
}

interface Line {
  what: string;
  level: Finding["level"];
  text: string;
}

/** Prints the findings in the order of the checks, as they come. */
async function printFindings(
  running: readonly Promise<{ what: string; findings: Finding[] }>[],
  mask: (text: string) => string,
  { json }: { json?: true },
): Promise<Line[]> {
  const report: Line[] = [];
  for (const check of running) {
    const { what, findings } = await check;
    for (const { level, text } of findings) {
      const line = { what, level, text: mask(text) };
      report.push(line);
      if (!json) process.stdout.write(`${signs[level]} ${what.padEnd(9)} ${asTyped(line.text)}\n`);
    }
  }
  return report;
}

/** Settings that cannot be used are a finding, and the only one. */
async function prepare(): Promise<CommandContext | Finding> {
  try {
    return await createCommandContext("silent");
  } catch (error) {
    if (!(error instanceof ConfigError || error instanceof McpConfigError)) throw error;
    return { level: "error", text: error.message };
  }
}

/** What a check finds, in bounded time and whatever goes wrong in it. */
export async function withDeadline(
  ms: number,
  check: (signal: AbortSignal) => Promise<Finding[]>,
): Promise<Finding[]> {
  const late = Promise.withResolvers<Finding[]>();
  const timer = setTimeout(() => {
    const text = `no result within ${ms / 1_000} s: look at the network and at the load of this machine, and try again.`;
    late.resolve([{ level: "error", text }]);
  }, ms);
  try {
    return await Promise.race([check(AbortSignal.timeout(ms)), late.promise]);
  } catch (error) {
    return [{ level: "error", text: error instanceof Error ? error.message : String(error) }];
  } finally {
    clearTimeout(timer);
  }
}
