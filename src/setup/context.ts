import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { type Config, loadConfig } from "../config/load.ts";
import type { Dialog } from "./dialog.ts";
import { changeEnvFile, type EnvChanges } from "./env-file.ts";
import { addToSetting, setSetting } from "./settings-file.ts";

/** What every step works with. */
export interface SetupContext {
  dialog: Dialog;
  /** Aborted when the person ends the set-up. */
  signal: AbortSignal;
  /** How long a service may take to answer, in milliseconds. */
  patienceMs: number;
  /** How long to wait for a mention before saying what may be wrong, in milliseconds. */
  listenMs: number;
  /** Read again each time: the steps before may have changed it. @throws ConfigError */
  config(): Config;
  /** The settings file, whether or not it exists. */
  settingsPath(): string;
  /** Stores variables in `.env` and says so. */
  save(changes: EnvChanges): Promise<void>;
  /** The same for values that a list of `heddle.yaml` is to have. */
  addToSetting(setting: readonly string[], values: readonly string[]): Promise<void>;
  /** The same for a value of `heddle.yaml`. */
  setSetting(setting: readonly string[], value: boolean): Promise<void>;
}

/** How a step ended. `waiting`: somebody else has to act before it can go on. */
export interface StepResult {
  state: "ready" | "skipped" | "waiting" | "failed";
  /** One line. */
  text: string;
}

export function createSetupContext({
  dialog,
  signal,
  env,
  cwd,
  patienceMs = 20_000,
  listenMs = 60_000,
  onSaved = () => {},
}: {
  dialog: Dialog;
  signal: AbortSignal;
  env: NodeJS.ProcessEnv;
  cwd: string;
  patienceMs?: number;
  listenMs?: number;
  /** Told the names of variables and settings that were stored, never a value. */
  onSaved?(names: string[]): void;
}): SetupContext {
  const path = join(cwd, ".env");
  const config = () => loadConfig(env, cwd);
  const settingsPath = () => {
    const { settingsFile, environment } = config();
    return settingsFile ?? resolve(cwd, environment.HEDDLE_CONFIG);
  };
  const tellSaved = (file: string, names: string[], removed: string[] = []) => {
    if (names.length > 0) dialog.say(`  Saved in ${file}: ${names.join(", ")}.`);
    if (removed.length > 0) dialog.say(`  Removed from ${file}: ${removed.join(", ")}.`);
    onSaved([...names, ...removed]);
  };
  return {
    ...{ dialog, signal, patienceMs, listenMs, config, settingsPath },
    async save(changes) {
      const names = Object.keys(changes);
      const before = existsSync(path) ? parseEnv(readFileSync(path, "utf8")) : {};
      const changed = names.filter((name) => before[name] !== changes[name]);
      if (changed.length > 0) {
        const warning = await changeEnvFile(path, changes);
        const isRemoved = (name: string) => changes[name] === undefined;
        tellSaved(
          path,
          changed.filter((name) => !isRemoved(name)),
          changed.filter(isRemoved),
        );
        if (warning) dialog.say(`  ! ${warning}`);
      }
      for (const name of names) {
        const outside = env[name];
        if (outside && outside !== changes[name])
          dialog.say(
            `  ! ${name} is also set in the environment, which takes precedence over .env: remove it there.`,
          );
      }
    },
    async addToSetting(setting, values) {
      const file = settingsPath();
      await addToSetting(file, setting, values);
      tellSaved(file, [setting.join(".")]);
    },
    async setSetting(setting, value) {
      const file = settingsPath();
      await setSetting(file, setting, value);
      tellSaved(file, [setting.join(".")]);
    },
  };
}
