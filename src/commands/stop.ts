import { consoleAuthor } from "../adapters/console/conversations/intake.ts";
import { createAppContext } from "../app/context.ts";
import { parseThreadId, threadId } from "../chat/threads.ts";
import { createCommandContext, UsageError } from "./context.ts";
import { printResult } from "./print-result.ts";

/** Stops what runs or waits in a thread, from any machine that reaches the same Redis. */
export async function stopFromTerminal(thread: string, { json }: { json?: true }): Promise<number> {
  const setup = await createCommandContext("warn");
  const target = parse(thread);
  const context = await createAppContext(setup);
  try {
    const author = { ...consoleAuthor(), id: "operator" };
    const result = await context.intake.receive({
      kind: "stop",
      target: { thread: target },
      author,
      at: Date.now(),
      isHostTime: true,
    });
    const stopping = result.kind === "stopping";
    const said = stopping
      ? `Stopping ${threadId(target)}; its receipt appears in the thread.`
      : `Nothing is running or waiting in ${threadId(target)}.`;
    printResult(json, { thread: threadId(target), stopping }, said);
    return stopping ? 0 : 1;
  } finally {
    await context.close();
  }
}

function parse(thread: string) {
  try {
    return parseThreadId(thread);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
