import { hostname } from "node:os";
import type { ThreadId } from "../../chat/threads.ts";
import type { SessionRunner } from "../../queue/turns/turn-worker.ts";
import type { SandboxHealth } from "../../sandbox/health.ts";
import type { Probe } from "../../sandbox/sandbox.ts";
import { makeExcerpt, type Mask } from "../excerpt.ts";
import type { ModelFailure, WorkerReport } from "../reports.ts";

/** Of a model service's words, in characters. */
const mostDetail = 500;

/** What this worker says of itself to the console, see queue/turns/worker-presence.ts. */
export interface WorkerStatus {
  /** The same, but noted while it runs a session. */
  track(runSession: SessionRunner): SessionRunner;
  describe(): Promise<WorkerReport>;
}

export function createWorkerStatus(options: {
  concurrency: number;
  model(): string;
  modelFailures(): ModelFailure[];
  sandbox: Pick<SandboxHealth, "probe">;
  mcp: { status(): WorkerReport["mcp"] };
  mask: Mask;
  now(): number;
}): WorkerStatus {
  const { concurrency, model, modelFailures, sandbox, mcp, mask, now } = options;
  const startedAt = now();
  const running = new Map<ThreadId, number>();
  return {
    track: (runSession) => async (thread, signal) => {
      running.set(thread, now());
      try {
        return await runSession(thread, signal);
      } finally {
        running.delete(thread);
      }
    },
    describe: async () => ({
      ...{ host: hostname(), pid: process.pid, startedAt, concurrency, model: model() },
      modelFailures: modelFailures().map((one) => ({
        ...one,
        message: mask(one.message),
        detail: makeExcerpt(one.detail, mask, mostDetail).text,
      })),
      running: [...running].map(([thread, since]) => ({ thread, since })),
      sandbox: maskSummary(await sandbox.probe(), mask),
      mcp: mcp.status().map(({ server, state, tools, problem }) => ({
        ...{ server: mask(server), state, tools },
        ...(problem !== undefined && { problem: mask(problem) }),
      })),
    }),
  };
}

const maskSummary = (probe: Probe, mask: Mask): Probe => ({ ...probe, summary: mask(probe.summary) });
