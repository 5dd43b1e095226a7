import { consoleAuthor } from "../adapters/console/intake.ts";
import { createAppContext } from "../app/context.ts";
import { parseThreadId, threadId } from "../chat/threads.ts";
import { createCommandContext, UsageError } from "./context.ts";

/** Stops what runs or waits in a thread, from any machine that reaches the same Redis. */
export async function command(args: string[]): Promise<number> {
  const [thread, ...rest] = args;
  if (!thread || rest.length > 0) throw new UsageError("Name one thread, as heddle threads list prints it.");
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
    });
    process.stdout.write(
      result.kind === "stopping"
        ? `Stopping ${threadId(target)}; its receipt appears in the thread.\n`
        : `Nothing is running or waiting in ${threadId(target)}.\n`,
    );
    return result.kind === "stopping" ? 0 : 1;
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
