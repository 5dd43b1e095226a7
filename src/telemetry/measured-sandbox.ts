import type { Counter } from "prom-client";
import type { Sandbox, SandboxBackend } from "../sandbox/sandbox.ts";

interface SandboxFigures {
  commands: Counter<"end">;
  jobs: Counter;
}

/** Counts what sandboxes run. */
export function createMeasuredSandbox(figures: SandboxFigures): (backend: SandboxBackend) => SandboxBackend {
  const measureSandbox = (sandbox: Sandbox): Sandbox => ({
    ...sandbox,
    async exec(request) {
      const result = await sandbox.exec(request);
      if (!request.isUncalled) figures.commands.inc({ end: result.end });
      return result;
    },
    async start(request) {
      const started = await sandbox.start(request);
      if (started.ok) figures.jobs.inc();
      return started;
    },
  });
  return (backend) => ({
    ...backend,
    open: async (threadId, claim) => measureSandbox(await backend.open(threadId, claim)),
  });
}
