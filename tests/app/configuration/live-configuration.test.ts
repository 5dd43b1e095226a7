import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createLiveConfiguration } from "../../../src/app/configuration/live-configuration.ts";
import { listFiles, loadConfiguration, reloadConfiguration } from "../../../src/app/configuration/load.ts";
import { watchFiles } from "../../../src/app/configuration/watch-files.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-live-"));
});
afterEach(() => rm(folder, { recursive: true }));

const file = (name: string) => join(folder, name);

/** @param first what the file says; undefined where there is none */
async function open(first?: string) {
  if (first !== undefined) await writeFile(file("heddle.yaml"), first);
  const started = await loadConfiguration({}, folder);
  const lines: string[] = [];
  const secrets: string[] = [];
  const note = (text: string) => void lines.push(text);
  let time = 0;
  const configuration = createLiveConfiguration({
    started,
    load: (inForce) => reloadConfiguration(inForce, {}, folder),
    now: () => (time += 1),
    log: { info: note, warn: note, error: note },
    onSecret: (secret) => void secrets.push(secret),
  });
  return { configuration, started, lines, secrets };
}

describe("The configuration of a process", () => {
  test("changes as a whole, and what somebody holds of the old one stays as it was", async () => {
    const { configuration } = await open("agent: { maxSteps: 5 }");
    const held = configuration.current();
    const agent = configuration.section("agent");
    await writeFile(file("heddle.yaml"), "agent: { maxSteps: 7 }");
    const state = await configuration.reload();
    expect([held.settings.agent.maxSteps, agent.maxSteps]).toEqual([5, 7]);
    expect(state).toMatchObject({ restart: [], at: 2 });
    expect(state).not.toHaveProperty("problem");
    expect([configuration.since("agent"), configuration.since("access")]).toEqual([2, 0]);
  });

  test("stays when the files are wrong, and says why in one sentence until they are right", async () => {
    const { configuration, lines } = await open("agent: { maxSteps: 5 }");
    const { hash } = configuration.state();
    for (const wrong of ["agent: { maxSteps: no }", "a: [", "", "models: { typo: {} }\nnone: 1"]) {
      await writeFile(file("heddle.yaml"), wrong);
      const { problem, hash: now } = await configuration.reload();
      expect(problem).toMatch(/^[^\n]{20,}\.$/);
      expect(now).toBe(hash);
    }
    await rm(file("heddle.yaml"));
    expect((await configuration.reload()).problem).toContain("is gone or empty");
    expect(configuration.current().settings.agent.maxSteps).toBe(5);
    await writeFile(file("heddle.yaml"), "agent: { maxSteps: 5 }");
    expect(await configuration.reload()).not.toHaveProperty("problem");
    expect(lines.at(-1)).toContain("again what is in force");
  });

  test("stays when a file that was made while it ran is gone or empty", async () => {
    const { configuration } = await open();
    await writeFile(file("heddle.yaml"), "access: { denied: [U1] }");
    expect(await configuration.reload()).not.toHaveProperty("problem");
    for (const spoil of [() => writeFile(file("heddle.yaml"), "\n"), () => rm(file("heddle.yaml"))]) {
      await spoil();
      expect((await configuration.reload()).problem).toContain("is gone or empty");
      expect(configuration.current().settings.access.denied).toEqual(["U1"]);
    }
  });

  test("takes what else changes where the settings file was empty from the start", async () => {
    const { configuration } = await open("\n");
    await writeFile(file(".env"), "HEDDLE_MODEL=demo\n");
    expect(await configuration.reload()).not.toHaveProperty("problem");
    expect(configuration.current().environment.HEDDLE_MODEL).toBe("demo");
  });

  test("is refused when what is made from it cannot be made, and then nothing of it is in force", async () => {
    const { configuration } = await open("agent: { maxSteps: 5 }");
    const steps = await configuration.derive({
      of: ({ config }) => config.settings.agent.maxSteps,
      make: ({ config }) => config.settings.agent.maxSteps,
    });
    await configuration.derive({
      of: ({ config }) => config.settings.agent,
      make({ config }) {
        if (config.settings.agent.maxSteps > 9) throw new Error("Nine at most.");
      },
    });
    await writeFile(file("heddle.yaml"), "agent: { maxSteps: 10 }");
    expect((await configuration.reload()).problem).toContain("Nine at most.");
    expect([steps(), configuration.current().settings.agent.maxSteps]).toEqual([5, 5]);
    await writeFile(file("heddle.yaml"), "agent: { maxSteps: 9 }");
    await configuration.reload();
    expect(steps()).toBe(9);
  });

  test("makes anew only what is made from something else", async () => {
    const { configuration } = await open("{}");
    let made = 0;
    const value = await configuration.derive({
      of: ({ config }) => config.settings.models,
      make: () => (made += 1),
    });
    await writeFile(file("heddle.yaml"), "agent: { maxSteps: 9 }");
    await configuration.reload();
    expect(value()).toBe(1);
    await writeFile(file("heddle.yaml"), "models: { anthropic/x: { contextTokens: 9000 } }");
    await configuration.reload();
    expect(value()).toBe(2);
  });

  test("keeps and names what is read at start only", async () => {
    const { configuration } = await open("queue: { perUser: 3 }");
    await writeFile(
      file("heddle.yaml"),
      "queue: { perUser: 4 }\nchannels: { slack:T1:C1: { network: [example.com], verbosity: quiet } }",
    );
    await writeFile(file(".env"), "SLACK_BOT_TOKEN=xoxb-1\nOPENAI_API_KEY=sk-new-and-secret\n");
    const { restart } = await configuration.reload();
    expect(restart).toEqual(["queue", "channels.*.network", "SLACK_BOT_TOKEN"]);
    const { settings, environment } = configuration.current();
    expect(settings.queue.perUser).toBe(3);
    expect(settings.channels["slack:T1:C1"]?.verbosity).toBe("quiet");
    expect(environment).toMatchObject({ OPENAI_API_KEY: "sk-new-and-secret" });
    expect(environment.SLACK_BOT_TOKEN).toBeUndefined();
  });

  test("tells of a new secret before anything is made with it", async () => {
    const { configuration, secrets } = await open("{}");
    let known: string[] = [];
    await configuration.derive({
      of: ({ config }) => config.variables,
      make: () => void (known = [...secrets]),
    });
    await writeFile(file(".env"), "ANTHROPIC_API_KEY=sk-ant-fresh-secret\n");
    await configuration.reload();
    expect(known).toContain("sk-ant-fresh-secret");
  });

  test("of a hundred saves the last one is in force, also where each replaces the file", async () => {
    const { configuration, started } = await open("{}");
    const done = Promise.withResolvers<void>();
    let loads = 0;
    const end = watchFiles({
      files: listFiles(started, folder),
      settleMs: 20,
      lookMs: 60_000,
      onProblem: (problem) => done.reject(new Error(problem)),
      onChange() {
        loads += 1;
        void configuration.reload().then(() => {
          if (configuration.current().settings.agent.maxSteps === 100) done.resolve();
        });
      },
    });
    for (let steps = 1; steps <= 100; steps += 1) {
      await writeFile(file("new"), `agent: { maxSteps: ${steps} }`);
      await rename(file("new"), file("heddle.yaml"));
    }
    await done.promise;
    end();
    expect(loads).toBeLessThan(100);
  });
});
