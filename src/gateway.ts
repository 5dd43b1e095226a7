import { type ChatAdapter, threadId } from "./adapters/adapter.ts";
import type { ConsoleStatus, WorkspaceFiles } from "./adapters/local/api.ts";
import { createLocalAdapter } from "./adapters/local/adapter.ts";
import { openAdapters } from "./platforms.ts";
import { hasWorker } from "./queue/heartbeat.ts";
import { keepAudit } from "./telemetry/telemetry.ts";
import type { Foundation, Running } from "./foundation.ts";

/** Something that the operator has to put right before Heddle can start. */
class StartError extends Error {
  override readonly name = "StartError";
}

/** Connects to the chat platforms and serves the console. */
export async function startGateway(
  foundation: Foundation,
  model: { id: string },
): Promise<Running & { url: string }> {
  const { config, log, redis, server, door } = foundation;
  const { environment } = config;
  const adapters = await openAdapters({
    config,
    log,
    redis,
    skills: foundation.skills,
    access: foundation.access,
  });
  const local = createLocalAdapter({
    redis,
    host: environment.HEDDLE_HOST,
    port: environment.HEDDLE_PORT,
    ...(environment.HEDDLE_CONSOLE_TOKEN && { token: environment.HEDDLE_CONSOLE_TOKEN }),
    files: workspaceFiles(foundation),
    status: async (): Promise<ConsoleStatus> => ({
      model: model.id,
      demo: model.id === "demo",
      sandbox: foundation.sandbox.probe,
      redis: server.kind,
      adapters: adapters.map(({ platform }) => platform),
    }),
    hasWorker: () => hasWorker(redis),
    ...(foundation.telemetry.metrics && { metrics: foundation.telemetry.metrics }),
    log,
  });
  adapters.push(local);

  const started: ChatAdapter[] = [];
  const endKeeping = keepAudit(redis, config, log);
  const close = async () => {
    endKeeping();
    await Promise.all(started.map((adapter) => adapter.stop()));
  };
  try {
    for (const adapter of adapters) {
      await adapter.start(door);
      started.push(adapter);
    }
  } catch (error) {
    await close();
    // Adapters throw a plain Error with a sentence for the operator; anything else is a defect and keeps its stack.
    throw error instanceof Error && error.name === "Error"
      ? new StartError(error.message, { cause: error })
      : error;
  }
  return { url: local.url, close };
}

/** The files of a thread, through its sandbox: whoever looks at a workspace must not follow its links. */
function workspaceFiles({ sandbox }: Foundation): WorkspaceFiles {
  const none = {
    ok: false,
    reason: "failed",
    message: "There is no sandbox on this host, so there are no files.",
  } as const;
  return {
    async list(thread) {
      return sandbox.probe.ok ? (await sandbox.backend.open(threadId(thread))).listFiles() : none;
    },
    async read(thread, path) {
      return sandbox.probe.ok ? (await sandbox.backend.open(threadId(thread))).readFile(path) : none;
    },
  };
}
