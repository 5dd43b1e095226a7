import { consoleAuthor } from "../adapters/console/intake.ts";
import { layFoundation } from "../app/context.ts";
import { parseThreadId, threadId } from "../chat/threads.ts";
import { setUp, UsageError } from "./context.ts";

/** Stops what runs or waits in a thread, from any machine that reaches the same Redis. */
export async function command(args: string[]): Promise<number> {
  const [thread, ...rest] = args;
  if (!thread || rest.length > 0) throw new UsageError("Name one thread, as heddle threads list prints it.");
  const setup = await setUp("warn");
  const target = parse(thread);
  const foundation = await layFoundation(setup);
  try {
    const author = { ...consoleAuthor(), id: "operator" };
    const verdict = await foundation.door.receive({
      kind: "stop",
      target: { thread: target },
      author,
      at: Date.now(),
    });
    process.stdout.write(
      verdict.kind === "stopping"
        ? `Stopping ${threadId(target)}; its receipt appears in the thread.\n`
        : `Nothing is running or waiting in ${threadId(target)}.\n`,
    );
    return verdict.kind === "stopping" ? 0 : 1;
  } finally {
    await foundation.close();
  }
}

function parse(thread: string) {
  try {
    return parseThreadId(thread);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
