import { setTimeout as delay } from "node:timers/promises";
import type { OutboundMessage } from "../chat/outbound.ts";
import { type ChatSurface, retryPassing, SurfaceError } from "../chat/surface.ts";
import type { MessageRef, ThreadRef } from "../chat/threads.ts";
import type { RateLimiter } from "../queue/outbox/rate-limit.ts";
import { failpoint } from "../queue/redis/failpoint.ts";
import { LeaseLost } from "../queue/session/lease.ts";

/** One message that is edited in place, throttled to the platform's rate limit: the latest content wins. */
export interface EditedMessage {
  /**
   * Shows what `render` gives as soon as the rate limit allows; called then, unless there is something newer: each time
   * another function, by which what is shown is told from what is not.
   */
  show(render: () => OutboundMessage): void;
  /**
   * Shows that at once, if the message is there, and then nothing more: for a process that ends. It waits for no rate
   * limit, and for the platform only for so long, ms.
   */
  showLast(render: () => OutboundMessage, withinMs: number): Promise<void>;
  /** Writes no more. Resolves when no write is pending, with whether the message may exist without its ref being known. */
  close(): Promise<boolean>;
  /** Whether it grows, see `ChatSurface.isGrowing`. */
  isGrowing(): boolean;
}

export interface EditedMessageOptions {
  surface: ChatSurface;
  output: RateLimiter;
  thread: ThreadRef;
  key: string;
  /** The message, when an earlier worker has posted it. */
  known: MessageRef | undefined;
  /** When that message was posted, at the earliest, ms. */
  knownSince: number;
  /** Since when an earlier worker may have posted it without recording so, ms; undefined when none may have. */
  lookSince: number | undefined;
  /** Records the ref of the message. @throws LeaseLost */
  onPosted(ref: MessageRef): Promise<void>;
  /**
   * Called after each edit. When another worker has taken over in the meantime, a process that was frozen may just have
   * overwritten the latest state with an old one: then this gives the latest (null: removed), if there is one yet.
   */
  overtaken(): Promise<OutboundMessage | null | undefined>;
  onProblem(problem: string, error: unknown): void;
}

export function createEditedMessage(options: EditedMessageOptions): EditedMessage {
  const { surface, output, thread, key } = options;
  const closing = new AbortController();
  const startedAt = Date.now();
  let ref = options.known;
  let postedAt = options.knownSince;
  let { lookSince } = options;
  let latest: (() => OutboundMessage) | undefined;
  let shown: typeof latest;
  let writing: Promise<void> | undefined;

  const isOld = () => Date.now() - postedAt > (surface.limits.editableMs ?? Number.POSITIVE_INFINITY);

  const write = async () => {
    const render = latest;
    if (!render) return;
    if (!ref && lookSince !== undefined)
      [ref] = (await surface.find?.(thread, key, lookSince, { grows: true })) ?? [];
    const message = render();
    const known = ref;
    if (known && !isOld()) {
      const uncertain = await editOrDoubt(() => failpoint("progress", () => surface.edit(known, message)));
      const last = await options.overtaken();
      if (last) await retryPassing(() => surface.edit(known, last), insistence);
      else if (last === null) await retryPassing(() => surface.remove(known), insistence);
      if (uncertain) throw uncertain;
    } else {
      // Until its ref is known, a lost connection leaves open whether it exists.
      lookSince = startedAt;
      [ref] = await failpoint("progress", () => surface.post(thread, message, key));
      postedAt = Date.now();
      const posted = ref;
      if (posted) {
        await options.onPosted(posted).catch(async (error: unknown) => {
          // The other worker has a progress message of its own.
          if (error instanceof LeaseLost) await retryPassing(() => surface.remove(posted), insistence);
          throw error;
        });
      }
      lookSince = undefined;
      if (known) await surface.remove(known);
    }
    shown = render;
  };

  const isBehind = () => latest !== shown;
  const { progressMs = [surface.limits.editIntervalMs] as const } = surface.limits;
  let writes = 0;
  const isGrowing = () => ref !== undefined && surface.isGrowing?.(ref) === true;
  const nextWaitMs = () => (isGrowing() ? surface.limits.appendMs : undefined) ?? nextEditMs();
  const nextEditMs = () => progressMs[Math.min(writes++, progressMs.length - 1)] ?? progressMs[0];
  const writeLatest = async () => {
    try {
      do {
        await delay(nextWaitMs(), undefined, { signal: closing.signal });
        const lane = isGrowing() ? "appends" : ref && !isOld() ? "edits" : "messages";
        await output.write(surface, ref ?? thread, "progress", closing.signal, write, lane);
      } while (isBehind());
    } catch (error) {
      if (!closing.signal.aborted) {
        options.onProblem("The progress message could not be written.", error);
        // A lost connection says nothing about the next edit. Somebody who deleted the message does not want it, and
        // where we may not write, progress deserves no more than a line in the log.
        if (!(error instanceof SurfaceError && error.kind === "uncertain")) closing.abort();
      }
    }
    writing = undefined;
  };

  return {
    isGrowing,
    show(render) {
      latest = render;
      if (!closing.signal.aborted) writing ??= writeLatest();
    },
    async showLast(render, withinMs) {
      closing.abort();
      const show = async () => {
        await writing;
        if (ref && !isOld()) await surface.edit(ref, render());
      };
      const showing = show().catch((error: unknown) =>
        options.onProblem("The progress message does not say that the work is interrupted.", error),
      );
      await Promise.race([showing, delay(withinMs, undefined, { ref: false })]);
    },
    async close() {
      closing.abort();
      await writing;
      return lookSince !== undefined;
    },
  };
}

/** @returns the failure where the edit may have arrived */
async function editOrDoubt(edit: () => Promise<void>): Promise<SurfaceError | undefined> {
  try {
    await edit();
    return undefined;
  } catch (error) {
    if (error instanceof SurfaceError && error.kind === "uncertain") return error;
    throw error;
  }
}

/** For what nobody else would do: another worker goes on, and would never change again what this one has shown. */
const insistence = { attempts: 10, leastMs: 500, mostMs: 5_000 };
