import { createLearntWindows } from "../../agent/context/learnt-windows.ts";
import { createTokenCounter } from "../../agent/context/tokens.ts";
import { listUnplanned } from "../../agent/planning.ts";
import { createCircuitBreaker } from "../../agent/tools/dispatch/circuit-breaker.ts";
import type { ThreadId } from "../../chat/threads.ts";
import { noChanges, type TurnRunner } from "../../queue/turns/contracts.ts";
import { nothingKilled } from "../../sandbox/sandbox.ts";
import { leaveOutAttached } from "./attached-files.ts";
import type { SharedByTurns, TurnFiles, TurnRunnerOptions } from "./turn-runner-options.ts";

/**
 * Puts the agent together for each turn: model, prompt, the thread's sandbox and the tools that it allows.
 *
 * @param given the options, or what gives those that a turn begins with and keeps; the sandbox is always the same
 */
export function createAgentRunner(given: TurnRunnerOptions | (() => TurnRunnerOptions)): TurnRunner {
  const read = typeof given === "function" ? given : () => given;
  const { backend } = read().sandbox;
  const shared: SharedByTurns = {
    counter: createTokenCounter(),
    contexts: new WeakMap(),
    windows: read().windows ?? { learnt: createLearntWindows(), refresh: async () => {} },
    breaker: createCircuitBreaker({ now: () => performance.now() }),
    warned: new Set(),
  };
  /** Of turns whose receipts are still to be written. */
  const turnFiles = new Map<ThreadId, TurnFiles>();

  return {
    async *run(input) {
      // Only turns need it: a start does not wait for the agent's loop and its tools.
      const { runAgent } = await import("./run-agent.ts");
      const options = read();
      const release = options.hold?.();
      const files: TurnFiles = { planned: [], attached: new Map() };
      turnFiles.set(input.thread, files);
      try {
        return yield* runAgent(options, shared, files, input);
      } finally {
        release?.();
      }
    },

    async killAll(thread) {
      // Asked for at once: whoever aborts the turn next ends the same processes, and they would not be counted.
      return (await backend.opened(thread)?.sandbox.killAll()) ?? nothingKilled;
    },

    jobsLeft(thread) {
      const running = backend
        .opened(thread)
        ?.sandbox.jobs()
        .filter((job) => job.status().state === "running");
      return running?.length ? Promise.all(running.map((job) => job.wait())) : undefined;
    },

    async fileChanges(thread, since) {
      const known = backend.opened(thread);
      // Opening may have restored all of them.
      const times = { modified: since, changed: Math.max(since, known?.at ?? 0) };
      const changes = await known?.sandbox.changes(times);
      if (!known || !changes?.ok) return noChanges;
      const hideOwn = (paths: string[]) => paths.filter((path) => !path.startsWith(".heddle/"));
      const written = hideOwn(changes.changed);
      const { attached, planned = [] } = turnFiles.get(thread) ?? {};
      const files = {
        changed: await leaveOutAttached(known.sandbox, attached, written),
        deleted: hideOwn(changes.deleted),
      };
      if (planned.length === 0) return files;
      return { ...files, unplanned: listUnplanned(planned, [...files.changed, ...files.deleted]) };
    },

    forgetTurn(thread) {
      turnFiles.delete(thread);
    },
  };
}
