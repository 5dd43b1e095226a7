import type { OpenedThread } from "../../chat/surface.ts";
import type { ThreadRef } from "../../chat/threads.ts";
import type { Checkpoints } from "../../sandbox/checkpoints.ts";

/** What undoing needs of the host. */
export interface UndoDeps {
  /** Undefined where no files are kept. @throws where there is no sandbox */
  checkpoints(): Promise<Checkpoints | undefined>;
  /**
   * Begins a thread in the same channel, or says why none can be begun there.
   *
   * @param opening `key` and `since` as of `ChatSurface.openThread`
   */
  openThread(
    beside: ThreadRef,
    opening: { markdown: string; key: string; since: number },
    signal: AbortSignal,
  ): Promise<OpenedThread | { why: string }>;
  /** Hides secrets in what is shown. */
  mask(text: string): string;
  onError(error: unknown): void;
}
