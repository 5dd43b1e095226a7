import type { Redis } from "ioredis";
import type { ChatSurface, MessageMark, MessageRef } from "../adapters/adapter.ts";
import { faultPoint } from "./fault.ts";
import { keys } from "./keys.ts";
import type { OutputScheduler } from "./output.ts";
import { scripts } from "./scripts.ts";

const rank: Record<MessageMark, number> = { waiting: 0, taken: 1, answered: 2, stopped: 2, failed: 2 };
const daySeconds = 86_400;

/**
 * Shows the state of somebody's message. Several processes mark the same message, and a slow one must not put
 * an earlier state over a later one: whoever has written looks whether it still holds, and if not writes again.
 */
export async function markMessage(
  { redis, output, surface }: { redis: Redis; output: OutputScheduler; surface: ChatSurface },
  ref: MessageRef,
  mark: MessageMark,
  signal: AbortSignal,
): Promise<void> {
  const raise = async () =>
    // The script returns one of the marks that it was given.
    (await scripts.mark.run(redis, [keys.marked(ref)], [mark, rank[mark], daySeconds])) as MessageMark;
  let shown: MessageMark;
  let current = await raise();
  do {
    shown = current;
    const now = shown;
    await output.write(surface, ref, "mark", signal, () => faultPoint("mark", () => surface.mark(ref, now)));
    current = await raise();
  } while (current !== shown);
}
