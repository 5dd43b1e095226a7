import {
  type ChatSurface,
  type MessageRef,
  type OutboundMessage,
  SurfaceError,
  type ThreadRef,
} from "../adapters/adapter.ts";

/** One message that is edited in place: the latest content wins, edits keep the platform's pace. */
export interface EditedMessage {
  /** Shows this content as soon as the pace allows. */
  show(message: OutboundMessage): void;
  /** Writes nothing any more: the message belongs to another worker now. */
  abandon(): void;
  /** Brings the message to its last content (undefined removes it), waiting for the platform if need be. */
  finish(message: OutboundMessage | undefined): Promise<void>;
}

export interface EditedMessageOptions {
  surface: ChatSurface;
  thread: ThreadRef;
  key: string;
  /** The message, when an earlier worker has posted it. */
  known: MessageRef | undefined;
  onPosted(ref: MessageRef): Promise<void>;
  onProblem(problem: string, error: unknown): void;
}

/** How often an edit that matters is tried against rate limits. */
const finalAttempts = 4;

export function editedMessage(options: EditedMessageOptions): EditedMessage {
  const { surface } = options;
  let ref = options.known;
  let latest: OutboundMessage | undefined;
  let shown = "";
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  /** Writes `message`; returns how long to wait before another try, or 0 when settled. */
  const write = async (message: OutboundMessage): Promise<number> => {
    const content = JSON.stringify(message);
    if (content === shown) return 0;
    try {
      if (ref) {
        await surface.edit(ref, message);
      } else {
        [ref] = await surface.post(options.thread, message, options.key);
        if (ref) await options.onPosted(ref);
      }
      shown = content;
    } catch (error) {
      if (error instanceof SurfaceError && error.kind === "rate-limited") return error.retryAfterMs;
      // Somebody deleted it, or we may not write: progress is not worth more than a line in the log.
      closed = true;
      options.onProblem("The progress message could not be written.", error);
    }
    return 0;
  };

  const schedule = (ms: number) => {
    if (timer || closed) return;
    timer = setTimeout(() => {
      writing = writing.then(async () => {
        const message = latest;
        const retryMs = message && !closed ? await write(message) : 0;
        timer = undefined;
        if (retryMs > 0 || message !== latest) schedule(Math.max(retryMs, surface.limits.editIntervalMs));
      });
    }, ms);
  };

  return {
    show(message) {
      latest = message;
      schedule(surface.limits.editIntervalMs);
    },
    abandon() {
      closed = true;
      clearTimeout(timer);
    },
    async finish(message) {
      clearTimeout(timer);
      await writing;
      const wasClosed = closed;
      closed = true;
      clearTimeout(timer);
      if (wasClosed) return;
      if (!message) {
        if (ref)
          await surface
            .remove(ref)
            .catch((error) => options.onProblem("The progress message could not be removed.", error));
        return;
      }
      for (let attempt = 0; attempt < finalAttempts; attempt += 1) {
        const retryMs = await write(message);
        if (retryMs === 0) return;
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    },
  };
}
