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
   * @param opening `key`, `since` and `title` as of `ChatSurface.openThread`
   */
  openThread(
    beside: ThreadRef,
    opening: { markdown: string; key: string; since: number; title: string },
    signal: AbortSignal,
  ): Promise<OpenedThread | { why: string }>;
  /** Replaces what a thread of `openThread` begins with. */
  editOpening(opened: OpenedThread, markdown: string, signal: AbortSignal): Promise<void>;
  /** As of `ChatSurface.addressOf`; undefined where the platform has no such addresses. */
  addressOf(thread: ThreadRef): string | undefined;
  /** Hides secrets in what is shown. */
  mask(text: string): string;
  onError(error: unknown): void;
}
