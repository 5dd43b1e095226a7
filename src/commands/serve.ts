import { hostname } from "node:os";
import {
  type Foundation,
  layFoundation,
  type Running,
  type SetUp,
  startGateway,
  startWorker,
} from "../app.ts";
import { openModels } from "../models.ts";
import { startHeartbeat } from "../queue/heartbeat.ts";
import type { Role } from "./start.ts";

/** Runs until SIGTERM or SIGINT; running turns are handed over before the process ends. */
export async function serve(role: Role, setup: SetUp): Promise<number> {
  const models = await openModels(setup.config, setup.log);
  const foundation = await layFoundation(setup);
  const parts: Running[] = [];
  let url = "";
  try {
    if (role !== "gateway") parts.push(await startWorker(foundation, models));
    if (role !== "worker") {
      const gateway = await startGateway(foundation, models.model);
      parts.unshift(gateway);
      url = gateway.url;
    }
    parts.push(
      await startHeartbeat({
        redis: foundation.redis,
        host: hostname(),
        worker: role !== "gateway",
        onError: (error) => setup.log.warn({ err: error }, "the heartbeat was not written"),
      }),
    );
  } catch (error) {
    await closeAll(parts, foundation);
    throw error;
  }
  const signalled = new Promise<string>((resolve) => {
    process.once("SIGTERM", () => resolve("SIGTERM"));
    process.once("SIGINT", () => resolve("SIGINT"));
  });
  process.stdout.write(banner(foundation, models.model.id, url));
  const signal = await signalled;
  setup.log.info(`${signal}: handing over running turns and stopping.`);
  await closeAll(parts, foundation);
  return 0;
}

/** The gateway first, so that nothing new comes in while turns are handed over. */
async function closeAll(parts: readonly Running[], foundation: Foundation): Promise<void> {
  for (const part of parts) await part.close();
  await foundation.close();
}

function banner({ server, sandbox, config }: Foundation, model: string, url: string): string {
  const { SLACK_BOT_TOKEN, SLACK_CLIENT_ID, DISCORD_TOKEN } = config.environment;
  const lines = [
    [
      "model",
      model === "demo"
        ? "demo: it plays scripts. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or MINIMAX_API_KEY for a real one."
        : model,
    ],
    ["redis", server.describe],
    ["sandbox", sandbox.probe.ok ? sandbox.probe.summary : "none: the agent has no shell and no files"],
    ...sandbox.probe.problems.map(({ what, fix }) => ["", `${what} ${fix}`]),
    ...(url && (SLACK_BOT_TOKEN ?? SLACK_CLIENT_ID) ? [["slack", "connected"]] : []),
    ...(url && DISCORD_TOKEN ? [["discord", "connected"]] : []),
    ...(url ? [["console", url]] : []),
  ];
  return `Heddle is ready.\n${lines.map(([name = "", text = ""]) => `  ${name.padEnd(8)} ${text}\n`).join("")}`;
}
