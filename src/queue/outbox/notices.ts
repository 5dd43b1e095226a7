import type { ActionButton } from "../../chat/outbound.ts";
import type { ChatSurface } from "../../chat/surface.ts";
import type { ThreadRef } from "../../chat/threads.ts";
import { failpoint } from "../redis/failpoint.ts";
import type { RateLimiter } from "./rate-limit.ts";

/** A short notice is of no use later, ms. */
const uselessMs = 60_000;

/** Says something short in a thread. Nobody waits for it, and nothing is lost with it. */
export function postNotice(
  thread: ThreadRef,
  { key, markdown, actions }: { key: string; markdown: string; actions?: ActionButton[] | undefined },
  by: { surface: ChatSurface; output: RateLimiter; onProblem(problem: string, error: unknown): void },
): void {
  const { surface, output } = by;
  output
    .write(surface, thread, "question", AbortSignal.timeout(uselessMs), () =>
      failpoint("reply", () =>
        surface.post(thread, { kind: "notice", markdown, ...(actions && { actions }) }, key),
      ),
    )
    .catch((error: unknown) => by.onProblem("A short notice could not be posted.", error));
}
