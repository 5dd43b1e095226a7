import type { ChatSurface } from "../chat/surface.ts";
import type { ThreadRef } from "../chat/threads.ts";

/** The indicator that the agent is doing something, on platforms that have one. */
export interface ThreadStatus {
  /** The text goes after the name of the bot: "is thinking…". */
  show(text: string): void;
  /** To be called after a message of the turn was posted: it may have taken the status away. */
  onPosted(): void;
  /** To be called when an earlier worker may have left it on. */
  takeOver(): void;
  /** Removes it for good, in the background. @param waits see `ChatSurface.status` */
  end(waits: boolean): void;
}

/** Nothing depends on the indicator: its failures are ignored. */
export function createThreadStatus(
  surface: ChatSurface,
  thread: ThreadRef,
  title: () => string,
): ThreadStatus {
  const pace = surface.limits.status;
  if (!surface.status || !pace)
    return {
      show: () => undefined,
      onPosted: () => undefined,
      takeOver: () => undefined,
      end: () => undefined,
    };
  let latest = "";
  let shown: { text: string; at: number } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isLeft = false;
  /** What was under way at the end of the turn still tells of itself afterwards. */
  let isEnded = false;
  let sending = Promise.resolve();
  const send = (text: string | undefined, waits = false) => {
    sending = sending
      .then(() => surface.status?.(thread, text, waits, title()))
      .catch(() => clearTimeout(timer));
  };
  const tick = () => {
    timer = setTimeout(tick, pace.changeMs).unref();
    if (shown?.text === latest && Date.now() - shown.at < pace.fadesMs) return;
    shown = { text: latest, at: Date.now() };
    send(latest);
  };
  return {
    show(text) {
      if (isEnded) return;
      latest = text;
      // A turn that ends before this needs no status.
      timer ??= setTimeout(tick, pace.firstMs ?? surface.limits.editIntervalMs).unref();
    },
    onPosted() {
      if (isEnded || !pace.endsWithPosts || !shown) return;
      clearTimeout(timer);
      shown = undefined;
      tick();
    },
    takeOver() {
      isLeft = true;
    },
    end(waits) {
      if (isEnded) return;
      isEnded = true;
      clearTimeout(timer);
      if (shown || isLeft || waits) send(undefined, waits);
    },
  };
}
