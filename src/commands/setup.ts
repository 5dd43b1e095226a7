import { checkConsole } from "../adapters/console/server/listen.ts";
import { readInstance } from "../app/process/instance.ts";
import { calls } from "../app/process/package-info.ts";
import { readText } from "../config/read-text.ts";
import { createAnswersDialog, judgeStep, parseAnswers } from "../setup/answers.ts";
import { createSetupContext, type SetupContext, type StepResult } from "../setup/context.ts";
import { type Dialog, SetupCancelled } from "../setup/dialog.ts";
import { setUpDiscord } from "../setup/discord.ts";
import { listenForMention } from "../setup/listen.ts";
import { setUpModel } from "../setup/model.ts";
import { runSteps, type SetupStep } from "../setup/run-steps.ts";
import { setUpSlack } from "../setup/slack.ts";
import { createCommandContext } from "./context.ts";
import { withDeadline } from "./doctor.ts";
import { checks } from "./doctor/checks.ts";
import { type SetupStep as StepName, setupSteps as stepNames } from "./setup/steps.ts";
import { createTerminalDialog } from "./setup/terminal-dialog.ts";
import { UsageError } from "./usage-error.ts";

const steps: Record<StepName, SetupStep> = {
  surroundings: { title: "This machine", run: lookAround },
  model: { title: "The model", run: setUpModel },
  slack: { title: "Slack", run: setUpSlack },
  discord: { title: "Discord", run: setUpDiscord },
  listen: {
    title: "The first mention",
    run: (context) => listenForMention(context, () => isServing(context)),
  },
};

/** Ctrl-C, as a shell counts it. */
const interruptedCode = 130;

/** Leads through what Heddle needs, one step after the other, or through one of them. */
export async function runSetup(
  chosen: readonly StepName[],
  { answers, json }: { answers?: string; json?: true },
): Promise<number> {
  const names = chosen.length > 0 ? chosen : stepNames;
  if (answers !== undefined) return await runWithAnswers(answers, names, json);
  if (json) throw new UsageError("--json goes with --answers.");
  if (!process.stdin.isTTY || !process.stdout.isTTY)
    throw new UsageError(
      "heddle setup asks at a terminal, and there is none: give it --answers <file> (docs/setup.md).",
    );
  const dialog = createTerminalDialog({ input: process.stdin, output: process.stdout });
  try {
    const results = await askThrough(dialog, dialog.cancelled, names);
    return exitCodeOf(results);
  } catch (error) {
    if (!(error instanceof SetupCancelled)) throw error;
    dialog.say("\nEnded. What was saved stays; `heddle setup` goes on from there.");
    return interruptedCode;
  } finally {
    dialog.close();
    // A service that has not answered must not keep the program.
    setTimeout(() => process.exit(), 500).unref();
  }
}

async function runWithAnswers(file: string, names: readonly StepName[], json?: true): Promise<number> {
  const text = readText(file);
  if (text === undefined) throw new UsageError(`--answers ${file}: there is no such file.`);
  const variables = Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  const answers = parseAnswers(text, file, variables);
  const words = json ? process.stderr : process.stdout;
  const dialog = createAnswersDialog(answers, (line) => void words.write(`${line}\n`));
  const never = new AbortController().signal;
  const results = await askThrough(dialog, never, names, (name, result) => judgeStep(name, answers, result));
  const code = exitCodeOf(results);
  if (json) {
    const ended = results.map((result, index) => ({ step: names[index], ...result }));
    process.stdout.write(`${JSON.stringify({ ok: code === 0, steps: ended })}\n`);
  }
  return code;
}

function exitCodeOf(results: readonly StepResult[]): number {
  return results.some(({ state }) => state === "failed") ? 1 : 0;
}

async function askThrough(
  dialog: Dialog,
  signal: AbortSignal,
  names: readonly StepName[],
  judge: (name: StepName, result: StepResult) => StepResult = (_name, result) => result,
): Promise<StepResult[]> {
  const context = createSetupContext({ dialog, signal, env: process.env, cwd: process.cwd() });
  dialog.say("Heddle's set-up. You can skip or repeat each step; Ctrl-C ends it and keeps what was saved.");
  const results = await runSteps(
    context,
    names.map((name) => ({
      title: steps[name].title,
      run: async (step) => judge(name, await steps[name].run(step)),
    })),
    process.cwd(),
  );
  dialog.say(
    (await isServing(context))
      ? "\nHeddle is running: start it again, so that it reads the new settings."
      : `\nStart Heddle: ${calls.start}`,
  );
  return results;
}

/** What `heddle doctor` says of this machine; the rest has steps of its own. */
const aroundUs = new Set(["node", "redis", "sandbox", "disk", "console"]);
const signsOfFindings = { ok: "✓", note: "·", warning: "!", error: "✗" };

async function lookAround({ dialog }: SetupContext): Promise<StepResult> {
  const setup = await createCommandContext("silent");
  const looking = checks
    .filter(({ what }) => aroundUs.has(what))
    .map(async ({ what, run }) => {
      const found = await withDeadline(10_000, (signal) => run(setup, signal));
      return found.map((finding) => ({ what, ...finding }));
    });
  const findings = (await Promise.all(looking)).flat();
  for (const { what, level, text } of findings)
    dialog.say(`  ${signsOfFindings[level]} ${what.padEnd(9)} ${setup.masker.mask(text)}`);
  const errors = findings.filter(({ level }) => level === "error").length;
  return errors === 0
    ? { state: "ready", text: "This machine has what Heddle needs." }
    : { state: "failed", text: "This machine lacks something: see above, and `heddle doctor`." };
}

async function isServing(context: SetupContext): Promise<boolean> {
  const config = context.config();
  const { HEDDLE_HOST: host, HEDDLE_PORT: port, HEDDLE_CONSOLE_TOKEN: token } = config.environment;
  const { text } = await checkConsole({
    ...{ host, port, token, instance: readInstance(config) },
    hasProvider: config.settings.console.openIdConnect !== undefined,
  });
  return text.endsWith("which is running");
}
