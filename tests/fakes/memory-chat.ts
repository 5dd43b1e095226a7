import {
  type ChatSurface,
  type MessageMark,
  type MessageRef,
  type OutboundMessage,
  SurfaceError,
} from "../../src/adapters/adapter.ts";

/** A message as people would see it. */
export interface Shown {
  ref: MessageRef;
  message: OutboundMessage;
  edits: number;
  key: string;
}

/** A chat platform in memory, with waits that resolve on the event instead of polling. */
/** @param options.finds whether it can tell what was posted with a key */
export function memoryChat(options: { idempotent?: boolean; finds?: boolean } = {}) {
  const shown: Shown[] = [];
  const marks = new Map<string, MessageMark[]>();
  const failures: SurfaceError[] = [];
  const statuses: (string | undefined)[] = [];
  const waiters = new Set<() => void>();
  const changed = () => {
    for (const check of waiters) check();
  };
  const surface: ChatSurface = {
    platform: "memory",
    limits: { editIntervalMs: 5, messageChars: 10_000 },
    idempotent: options.idempotent ?? false,
    async post(thread, message, key, posted = []) {
      if (posted.length > 0) return [...posted];
      const failure = message.kind === "progress" ? undefined : failures.shift();
      if (failure && failure.kind !== "uncertain") throw failure;
      const { platform, workspace, channel } = thread;
      const ref = { platform, workspace, channel, message: `bot${shown.length + 1}` };
      shown.push({ ref, message, edits: 0, key });
      changed();
      if (failure) throw failure;
      return [ref];
    },
    ...(options.finds && {
      find: async (_thread, key) => shown.filter((entry) => entry.key === key).map(({ ref }) => ref),
    }),
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
    async mark(ref, mark) {
      marks.set(ref.message, [...(marks.get(ref.message) ?? []), mark]);
      changed();
    },
    async status(_thread, text) {
      statuses.push(text);
      changed();
    },
    threadOf: () => Promise.resolve(undefined),
    upload: () => Promise.reject(new SurfaceError("rejected", "no files here")),
  };
  return {
    surface,
    shown,
    marks,
    statuses,
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
