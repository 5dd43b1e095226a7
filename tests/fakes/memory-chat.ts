import { type ChatSurface, SurfaceError } from "../../src/chat/surface.ts";
import type { MessageMark, OutboundMessage, ShownMark } from "../../src/chat/outbound.ts";
import type { MessageRef } from "../../src/chat/threads.ts";
import type { ContextMessage } from "../../src/chat/inbound.ts";

/** A message as people would see it. */
export interface Shown {
  ref: MessageRef;
  message: OutboundMessage;
  edits: number;
  key: string;
}

interface MemoryChatOptions {
  /** How often the status is shown anew. Default: not before the test is over. */
  statusMs?: number;
  /** Whether a post takes the status away. */
  statusEndsWithPosts?: true;
  /** For how long it knows the key of a post. */
  idempotentMs?: number;
  /** The age from which a message is better replaced. */
  editableMs?: number;
  /** Whether it can tell what was posted with a key. */
  finds?: boolean;
  /** The content of files that came with messages, by handle, in pieces. */
  files?: Record<string, readonly Uint8Array[]>;
  /** What was said in the thread before. */
  earlier?: readonly ContextMessage[];
  /** Until when it does not take the mark. */
  holdsMark?: (mark: MessageMark) => Promise<void> | undefined;
  /** Until when it does not take the post. */
  holdsPost?: (message: OutboundMessage) => Promise<void> | undefined;
}

/** A chat platform in memory, with waits that resolve on the event instead of polling. */
export function memoryChat(options: MemoryChatOptions = {}) {
  const shown: Shown[] = [];
  /** Messages, also those that were removed. */
  let made = 0;
  const marks = new Map<string, ShownMark[]>();
  const places = new Map<string, number>();
  const failures: SurfaceError[] = [];
  const statuses: (string | undefined)[] = [];
  const privateNotices: { person: string; text: string }[] = [];
  const waiters = new Set<() => void>();
  const changed = () => {
    for (const check of waiters) check();
  };
  const surface: ChatSurface = {
    platform: "memory",
    limits: {
      editIntervalMs: 5,
      status: {
        ...{ changeMs: options.statusMs ?? 60_000, fadesMs: 0 },
        ...(options.statusEndsWithPosts && { endsWithPosts: true }),
      },
      messageChars: 10_000,
      ...(options.editableMs !== undefined && { editableMs: options.editableMs }),
    },
    idempotentMs: options.idempotentMs ?? 0,
    async post(thread, message, key, posted = []) {
      if (posted.length > 0) return [...posted];
      await options.holdsPost?.(message);
      const failure = message.kind === "progress" ? undefined : failures.shift();
      if (failure && failure.kind !== "uncertain") throw failure;
      const { platform, workspace, channel } = thread;
      const same = options.idempotentMs && shown.find((entry) => entry.key === key);
      if (same) return [same.ref];
      const ref = { platform, workspace, channel, message: `bot${(made += 1)}` };
      shown.push({ ref, message, edits: 0, key });
      changed();
      if (failure) throw failure;
      return [ref];
    },
    ...(options.finds && {
      find: async (_thread, key) => shown.filter((entry) => entry.key === key).map(({ ref }) => ref),
    }),
    async openThread(channel, markdown, key) {
      const known = shown.find((entry) => entry.key === key);
      const ref = known?.ref ?? { ...channel, message: `bot${(made += 1)}` };
      if (!known) shown.push({ ref, message: { kind: "notice", markdown }, edits: 0, key });
      changed();
      return { thread: { ...channel, thread: ref.message }, ref };
    },
    async edit(ref, message) {
      const found = shown.find((entry) => entry.ref.message === ref.message);
      if (!found) throw new SurfaceError("gone", "no such message");
      found.message = message;
      found.edits += 1;
      changed();
    },
    async remove(ref) {
      const index = shown.findIndex((entry) => entry.ref.message === ref.message);
      if (index >= 0) shown.splice(index, 1);
      changed();
    },
    async mark(ref, mark, { place, paused = false } = {}) {
      await options.holdsMark?.(mark);
      if (place !== undefined) places.set(ref.message, place);
      marks.set(ref.message, [...(marks.get(ref.message) ?? []), paused ? "paused" : mark]);
      changed();
    },
    async status(_thread, text, waits = false) {
      statuses.push(waits ? "(waits)" : text);
      changed();
    },
    async tellPrivately(_thread, person, text) {
      privateNotices.push({ person, text });
      changed();
    },
    threadOf: () => Promise.resolve(undefined),
    upload: () => Promise.reject(new SurfaceError("rejected", "no files here")),
    async *download({ handle }) {
      const pieces = options.files?.[handle];
      if (!pieces) throw new SurfaceError("gone", "The file was deleted.");
      yield* pieces;
    },
    earlier: async (_thread, _before, limit) => (options.earlier ?? []).slice(-limit),
  };
  return {
    surface,
    shown,
    marks,
    /** The last place in the queue that a message was shown with. */
    places,
    statuses,
    /** What was said to one person alone. */
    privateNotices,
    /** The next posts fail so, but for progress, which comes when it likes; `uncertain` posts and then loses the response. */
    failNext: (...errors: SurfaceError[]) => failures.push(...errors),
    /** Resolves with the first truthy result, checked at every change. */
    until<T>(condition: () => T | undefined | false): Promise<T> {
      return new Promise((resolve) => {
        const check = () => {
          const result = condition();
          if (!result) return;
          waiters.delete(check);
          resolve(result);
        };
        waiters.add(check);
        check();
      });
    },
  };
}
