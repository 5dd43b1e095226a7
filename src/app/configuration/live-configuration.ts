import { createHash } from "node:crypto";
import type { AdminChange } from "../../queue/stores/administration-changes.ts";
import { listModelNames } from "../models/models.ts";
import { applyChanges, type ChangedSettings } from "./apply-changes.ts";
import type { Config } from "../../config/load.ts";
import type { Settings } from "../../config/schema.ts";
import { describeRefusal } from "./describe-refusal.ts";
import type { LoadedConfiguration } from "./load.ts";
import { keepWhatNeedsRestart } from "./restart.ts";
import { isSameContent } from "./same-content.ts";

/** How the configuration of this process stands, for operators. */
export interface ConfigurationState {
  /** Of what is in force; the same in every process that has read the same. */
  hash: string;
  /** Since when it is in force, ms. */
  at: number;
  /** In one sentence, why what the files say at the moment is not in force. */
  problem?: string;
  /** Settings and variables that have changed and are read at start only. */
  restart: readonly string[];
  /** Who asked last that it be read again. */
  asked?: string;
}

/**
 * What is configured at this moment. Everything that can change without a restart is asked for where it is needed and
 * not kept: a turn asks once, when it begins; rules and access are asked for with every call.
 *
 * @example
 * const models = await configuration.derive({ of: ({ config }) => config.settings.models, make: openModels });
 * configuration.current().settings.agent.maxSteps; // 50
 * models(); // those of the current settings
 */
export interface Configuration {
  /** The configuration in force; a new object after each change, which itself never changes. */
  current(): Config;
  /** A section of it for those who keep settings: each property is read when it is asked for. */
  section<Name extends keyof Settings>(name: Name): Settings[Name];
  /** When this section last changed while the process ran, ms; 0 where it has not. */
  since(name: keyof Settings): number;
  /**
   * What is made from the configuration, made anew before a configuration is in force in which `of` differs. Where it
   * cannot be made, the whole configuration is refused.
   */
  derive<T>(derivation: Derivation<T>): Promise<() => T>;
  state(): ConfigurationState;
  /** Told of the state after each reload. */
  subscribe(listener: (state: ConfigurationState) => void): void;
}

export interface LiveConfiguration extends Configuration {
  /** Puts what administrators have changed in chat over the files. Never rejects. */
  change(changes: readonly AdminChange[]): Promise<ConfigurationState>;
  /** What is changed at the moment, what of it does not count, and the settings without it. */
  changes(): { stored: readonly AdminChange[]; ignored: ChangedSettings["ignored"]; file: Settings };
  /** Reads everything again. What is in force changes as a whole, or stays. Never rejects. */
  reload(asked?: string): Promise<ConfigurationState>;
}

interface Derivation<T> {
  /** What it is made from, to be compared. */
  of(loaded: LoadedConfiguration): unknown;
  /** @throws an Error with a sentence for the operator */
  make(loaded: LoadedConfiguration): T | Promise<T>;
  /** Told when another value is in force. */
  replaced?(old: T, next: T): void;
}

interface Derived {
  /** Gives what puts the value into force; undefined where it stays as it is. */
  prepare(next: LoadedConfiguration): Promise<(() => void) | undefined>;
}

export interface LiveConfigurationOptions {
  /** What the process has started with. */
  started: LoadedConfiguration;
  /** Reads the same places again. @param inForce what was read last and holds @throws ConfigError, McpConfigError */
  load(inForce: LoadedConfiguration): Promise<LoadedConfiguration>;
  now(): number;
  log: { info(text: string): void; warn(text: string): void; error(text: string): void };
  /** Told of each secret before anything uses it. */
  onSecret(secret: string): void;
}

export function createLiveConfiguration(options: LiveConfigurationOptions): LiveConfiguration {
  const { started, now, log } = options;
  const derived: Derived[] = [];
  const listeners: ((state: ConfigurationState) => void)[] = [];
  const sections = new Map<keyof Settings, number>();
  let files = started;
  let changes: readonly AdminChange[] = [];
  let ignored: ChangedSettings["ignored"] = [];
  let inForce = started;
  let state: ConfigurationState = { hash: started.hash, at: now(), restart: [] };
  let reloading: Promise<unknown> = Promise.resolve();

  /** What the files say with what administrators say. */
  function overlay(loaded: LoadedConfiguration) {
    const { config } = loaded;
    const changed = applyChanges(config.settings, changes, listModelNames(config));
    return { ...changed, loaded: { ...loaded, config: { ...config, settings: changed.settings } } };
  }

  /** @throws what says why it cannot be in force; then nothing has changed */
  async function take({ loaded: read, restart }: Kept): Promise<void> {
    const { loaded, ignored: without } = overlay(read);
    for (const secret of [...loaded.config.secrets, ...loaded.mcp.secrets]) options.onSecret(secret);
    const prepared = [];
    for (const one of derived) prepared.push(await one.prepare(loaded));
    // From here on nothing fails and nothing waits, so nobody sees one half of it.
    const at = now();
    const before = inForce.config.settings;
    for (const name of Object.keys(loaded.config.settings) as (keyof Settings)[]) {
      if (!isSameContent(before[name], loaded.config.settings[name])) sections.set(name, at);
    }
    files = read;
    ignored = without;
    inForce = loaded;
    for (const putIntoForce of prepared) putIntoForce?.();
    state = { hash: nameContent(loaded.hash, changes), at, restart };
  }

  async function reload(asked: string | undefined): Promise<ConfigurationState> {
    const { problem: before } = state;
    try {
      const next = keepWhatNeedsRestart(started, await options.load(files));
      if (next.loaded.hash !== files.hash || isDifferent(next.loaded, files)) {
        await take(next);
        log.info(
          `The configuration has changed and is in force (${state.hash}).${describeRestart(next.restart)}`,
        );
      } else if (before !== undefined) {
        const { problem: _, ...rest } = state;
        state = rest;
        log.info("The configuration is again what is in force.");
      }
    } catch (error) {
      const problem = describeRefusal(error);
      state = { ...state, problem };
      if (problem !== before)
        log.error(`The changed configuration is refused, and what was in force stays. ${problem}`);
    }
    if (asked !== undefined) state = { ...state, asked };
    for (const listener of listeners) listener(state);
    return state;
  }

  async function change(next: readonly AdminChange[]): Promise<ConfigurationState> {
    if (isSameContent(next, changes)) return state;
    const before = changes;
    changes = next;
    try {
      const { problem, restart } = state;
      await take({ loaded: files, restart: [...restart] });
      if (problem !== undefined) state = { ...state, problem };
      log.info("What administrators have changed in chat is in force.");
      for (const { change: one, why } of ignored)
        log.warn(`What ${one.by.name} has changed does not count: ${why}`);
    } catch (error) {
      changes = before;
      log.error(`What administrators have changed in chat is refused. ${describeRefusal(error)}`);
    }
    for (const listener of listeners) listener(state);
    return state;
  }

  /** One after the other, so that the last one counts. */
  const inTurn = (work: () => Promise<ConfigurationState>) => {
    const next = reloading.then(work);
    reloading = next;
    return next;
  };

  return {
    current: () => inForce.config,
    section: (name) => readThrough(() => inForce.config.settings[name]),
    since: (name) => sections.get(name) ?? 0,
    async derive(derivation) {
      const { read, ...one } = await deriveFrom(inForce, derivation);
      derived.push(one);
      return read;
    },
    state: () => state,
    subscribe: (listener) => void listeners.push(listener),
    reload: (asked) => inTurn(() => reload(asked)),
    change: (next) => inTurn(() => change(next)),
    changes: () => ({ stored: changes, ignored, file: files.config.settings }),
  };
}

async function deriveFrom<T>(
  loaded: LoadedConfiguration,
  { of, make, replaced }: Derivation<T>,
): Promise<Derived & { read(): T }> {
  let source = of(loaded);
  let value = await make(loaded);
  return {
    read: () => value,
    async prepare(next) {
      const nextSource = of(next);
      if (isSameContent(nextSource, source)) return undefined;
      const nextValue = await make(next);
      return () => {
        const old = value;
        source = nextSource;
        value = nextValue;
        replaced?.(old, nextValue);
      };
    },
  };
}

type Kept = ReturnType<typeof keepWhatNeedsRestart>;

/** Of files and changes. */
function nameContent(hash: string, changes: readonly AdminChange[]): string {
  if (changes.length === 0) return hash;
  return `${hash}+${createHash("sha256").update(JSON.stringify(changes)).digest("hex").slice(0, 6)}`;
}

/** The hash is of the files; variables come from elsewhere too. */
function isDifferent(next: LoadedConfiguration, inForce: LoadedConfiguration): boolean {
  const partsOf = ({ config: { settings, variables }, mcp }: LoadedConfiguration) => [
    settings,
    variables,
    mcp,
  ];
  return !isSameContent(partsOf(next), partsOf(inForce));
}

function describeRestart(restart: readonly string[]): string {
  return restart.length === 0 ? "" : ` These need a restart: ${restart.join(", ")}.`;
}

/** An object whose properties are read from another one, whichever that is at the time. */
function readThrough<T>(read: () => T): T {
  // Sections are objects; a proxy stands for one of them and is never written to.
  if (typeof read() !== "object") return read();
  return new Proxy(read() as object, {
    get: (_, name) => Reflect.get(read() as object, name),
    has: (_, name) => Reflect.has(read() as object, name),
  }) as T;
}
