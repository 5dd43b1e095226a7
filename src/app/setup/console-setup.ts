import { randomUUID } from "node:crypto";
import { accessSync, constants, existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ConsoleSetup, ConsoleSetupStep, SetupRun } from "../../adapters/console/setup-at-console.ts";
import type { Speaker } from "../../agent/messages.ts";
import { createSetupContext } from "../../setup/context.ts";
import { runSteps, type SetupStep } from "../../setup/run-steps.ts";
import type { SetupAuditEvent } from "../../telemetry/audit/fact.ts";
import { countsWithoutRestart } from "../configuration/restart.ts";
import type { Hearing } from "./hearing.ts";
import { createHeldDialog, type HeldDialog } from "./held-dialog.ts";

/** Loaded when somebody goes through them: the libraries of platforms that are not used are hundreds of files. */
const steps: Record<ConsoleSetupStep, SetupStep> = {
  model: {
    title: "The model",
    run: async (context) => (await import("../../setup/model.ts")).setUpModel(context),
  },
  slack: {
    title: "Slack",
    run: async (context) => (await import("../../setup/slack.ts")).setUpSlack(context),
  },
  discord: {
    title: "Discord",
    run: async (context) => (await import("../../setup/discord.ts")).setUpDiscord(context),
  },
};

export interface ConsoleSetupOptions {
  env: NodeJS.ProcessEnv;
  /** Where `.env` is. */
  cwd: string;
  /** Whether this process alone is the Heddle that reads that file. */
  isWhole: boolean;
  hearing: Hearing;
  mask(text: string): string;
  audit(event: SetupAuditEvent): void;
  /** How long a question waits for its answer, in milliseconds. Default: five minutes. */
  silenceMs?: number;
  /** How long a service may take to answer, in milliseconds. */
  patienceMs?: number;
}

/** The set-up for the console. `close` ends a run that is under way. */
export function openConsoleSetup(options: ConsoleSetupOptions): ConsoleSetup & { close(): void } {
  const { cwd, isWhole, hearing } = options;
  const listeners = new Set<() => void>();
  const onChange = () => {
    for (const tell of listeners) tell();
  };
  let latest: Sitting | undefined;
  const underWay = (id?: string) =>
    latest && !latest.run.ended && (id === undefined || latest.run.id === id) ? latest : undefined;

  return {
    problem: () => (isWhole ? findUnwritable(cwd) : apart),
    current: () => latest && { ...latest.run, ...latest.dialog.state() },
    hearing: hearing.state,
    begin(names, by) {
      if (underWay()) return undefined;
      latest = sitDown(names, by, { ...options, onChange });
      return { ...latest.run, ...latest.dialog.state() };
    },
    answer({ run, question, value }, by) {
      const sitting = underWay(run);
      if (!sitting) return "This set-up has ended: begin it again.";
      if (sitting.run.by.id !== by.id) return `${sitting.run.by.name} goes through the set-up, and answers.`;
      return sitting.dialog.answer(question, value);
    },
    end(run) {
      const sitting = underWay(run);
      sitting?.dialog.cancel();
      return sitting !== undefined;
    },
    follow(listener) {
      listeners.add(listener);
      const endHearing = hearing.follow(listener);
      return () => {
        listeners.delete(listener);
        endHearing();
      };
    },
    close: () => underWay()?.dialog.cancel(),
  };
}

const apart =
  "Gateway and workers are processes of their own here, each with its own environment: put keys and tokens there.";

/** `.env` is written beside and renamed, so its folder has to be writable. */
function findUnwritable(cwd: string): string | undefined {
  const path = join(cwd, ".env");
  try {
    const target = existsSync(path) ? realpathSync(path) : path;
    accessSync(dirname(target), constants.W_OK);
    if (existsSync(target)) accessSync(target, constants.R_OK | constants.W_OK);
    return undefined;
  } catch {
    return `Heddle cannot write ${path}: put keys and tokens where its environment comes from.`;
  }
}

/** Somebody's way through the steps. */
interface Sitting {
  run: Omit<SetupRun, "said" | "copied" | "question">;
  dialog: HeldDialog;
}

/** How long a question waits for its answer. */
const silenceMs = 5 * 60_000;

function sitDown(
  names: readonly ConsoleSetupStep[],
  { id, name }: Speaker,
  options: ConsoleSetupOptions & { onChange(): void },
): Sitting {
  const { cwd, env, audit, onChange, mask, patienceMs } = options;
  const by = { id, name };
  const dialog = createHeldDialog({ silenceMs: options.silenceMs ?? silenceMs, mask, onChange });
  const run: Sitting["run"] = { id: randomUUID(), steps: [...names], by };
  const saved = new Set<string>();
  const context = createSetupContext({
    ...{ dialog, env, cwd, signal: dialog.cancelled, ...(patienceMs !== undefined && { patienceMs }) },
    onSaved(stored) {
      for (const one of stored) saved.add(one);
      audit({ action: "setup-saved", names: stored, by });
    },
  });
  const finish = (ended: NonNullable<SetupRun["ended"]>) => {
    const closing = describeClosing([...saved]);
    if (closing) dialog.say(`\n${closing}`);
    run.ended = ended;
    audit({ action: "setup-ended", outcome: ended, by });
    onChange();
  };
  audit({ action: "setup-begun", names: [...names], by });
  // Begun in the next tick, when whoever has asked for it has the run.
  setImmediate(() => {
    runSteps(
      context,
      names.map((step) => steps[step]),
      cwd,
    ).then(
      () => finish("done"),
      (error: unknown) => {
        if (dialog.cancelled.aborted) {
          dialog.say(dialog.isSilent() ? "\nEnded, because nobody answered." : "\nEnded.");
          return finish(dialog.isSilent() ? "silent" : "cancelled");
        }
        dialog.say(`  ✗ ${error instanceof Error ? error.message : String(error)}`);
        return finish("failed");
      },
    );
  });
  return { run, dialog };
}

function describeClosing(saved: string[]): string | undefined {
  if (saved.length === 0) return undefined;
  const waits = saved.filter((name) => !countsWithoutRestart(name));
  return waits.length === 0
    ? "Heddle takes this within a second; no restart is needed."
    : `Start Heddle again, so that it takes ${waits.join(", ")}. Then mention it: this page says that it hears you.`;
}
