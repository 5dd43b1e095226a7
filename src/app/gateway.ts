import { createLocalAdapter } from "../adapters/console/adapter.ts";
import type { ConsoleStatus } from "../adapters/console/services.ts";
import type { ChatAdapter } from "../chat/adapter.ts";
import { workspaceFiles } from "../operations/files.ts";
import { openOperations } from "../operations/open.ts";
import { hasWorker } from "../queue/turns/presence.ts";
import { auditFolder, keepAudit } from "../telemetry/telemetry.ts";
import type { Foundation, Running } from "./context.ts";
import { openAdapters } from "./platforms.ts";
import { limitsOf } from "./sandbox.ts";

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
  const operations = openOperations({
    ...{ redis, server, queue: foundation.queue, skills: foundation.skills },
    budgets: config.settings.budgets,
    limits: limitsOf(config.settings.sandbox),
    auditFolder: auditFolder(config),
    mask: (text) => foundation.masker.mask(text),
    now: Date.now,
    onError: (error) => log.warn({ err: error }, "the console could not follow what happens"),
  });
  const local = createLocalAdapter({
    redis,
    host: environment.HEDDLE_HOST,
    port: environment.HEDDLE_PORT,
    ...(environment.HEDDLE_CONSOLE_TOKEN && { token: environment.HEDDLE_CONSOLE_TOKEN }),
    files: workspaceFiles(foundation.sandbox),
    operations,
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
    operations.close();
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
