import { consoleAuthor } from "../adapters/console/conversations/intake.ts";
import { McpConfigError } from "../agent/mcp/config.ts";
import { describeRefusal } from "../app/configuration/describe-refusal.ts";
import { createAppContext } from "../app/context.ts";
import { parseThreadId, threadId, type ThreadRef } from "../chat/threads.ts";
import { ConfigError } from "../config/config-error.ts";
import { correctStopTime, orderStop } from "../queue/turns/stops.ts";
import { openTurnQueue } from "../queue/turns/wake-queue.ts";
import { createCommandContext, UsageError } from "./context.ts";
import { printResult } from "./print-result.ts";
import { connectWithoutSettings } from "./without-settings.ts";

/** Stops what runs or waits in a thread, from any machine that reaches the same Redis. */
export async function stopFromTerminal(thread: string, { json }: { json?: true }): Promise<number> {
  const target = parse(thread);
  const stopping = await order(target);
  const said = stopping
    ? `Stopping ${threadId(target)}; its receipt appears in the thread.`
    : `Nothing is running or waiting in ${threadId(target)}.`;
  printResult(json, { thread: threadId(target), stopping }, said);
  return stopping ? 0 : 1;
}

const author = { ...consoleAuthor(), id: "operator" };

/** False where there is nothing to stop. */
async function order(thread: ThreadRef): Promise<boolean> {
  try {
    return await orderAsConfigured(thread);
  } catch (error) {
    if (!(error instanceof ConfigError || error instanceof McpConfigError)) throw error;
    return await orderWithoutSettings(thread, error);
  }
}

async function orderAsConfigured(thread: ThreadRef): Promise<boolean> {
  const context = await createAppContext(await createCommandContext("warn"));
  try {
    const stop = { kind: "stop", target: { thread }, author, at: Date.now(), isHostTime: true } as const;
    return (await context.intake.receive(stop)).kind === "stopping";
  } finally {
    await context.close();
  }
}

/** Whoever has broken a file can stop what runs under the one before: that takes Redis alone, and a worker. */
async function orderWithoutSettings(thread: ThreadRef, refusal: Error): Promise<boolean> {
  const { server } = await connectWithoutSettings();
  const redis = server.connect({ maxRetriesPerRequest: null });
  const queue = openTurnQueue(redis);
  try {
    const id = threadId(thread);
    const at = await correctStopTime(redis, id, Date.now());
    if ((await orderStop(redis, id, { by: author.name, at })) === "nothing") return false;
    await queue.wake(id);
    const rest = "A worker that runs carries the stop out; none starts before that is corrected.";
    process.stderr.write(`heddle: ${describeRefusal(refusal)} ${rest}\n`);
    return true;
  } finally {
    await queue.close();
    await server.close();
  }
}

function parse(thread: string) {
  try {
    return parseThreadId(thread);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
