import { parseArgs } from "node:util";
import { type Foundation, layFoundation, type Running, startGateway, startWorker } from "../app.ts";
import { openModels } from "../models.ts";
import { isSupervised, supervise } from "./supervisor.ts";
import { setUp, UsageError } from "./setup.ts";

const roles = ["all", "gateway", "worker"];

/** Runs until SIGTERM or SIGINT; running turns are handed over before the process ends. */
export async function command(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { role: { type: "string", default: "all" } } });
  const { role } = values;
  if (!roles.includes(role)) throw new UsageError(`--role ${role}: expected one of ${roles.join(", ")}.`);

  const setup = await setUp();
  if (role !== "gateway" && !isSupervised()) {
    return await supervise({
      entry: process.argv[1] ?? "",
      args: process.argv.slice(2),
      hangMs: setup.config.settings.queue.hangSeconds * 1_000,
      warn: (text) => setup.log.warn(text),
    });
  }
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
  const { SLACK_BOT_TOKEN, SLACK_CLIENT_ID } = config.environment;
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
    ...(url ? [["console", url]] : []),
  ];
  return `Heddle is ready.\n${lines.map(([name = "", text = ""]) => `  ${name.padEnd(8)} ${text}\n`).join("")}`;
}
