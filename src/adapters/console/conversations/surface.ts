import { createHash } from "node:crypto";
import type { Redis } from "ioredis";
import { cutMarkdown, splitMarkdown } from "../../../chat/markdown.ts";
import { type ChatSurface, SurfaceError } from "../../../chat/surface.ts";
import type { MessageRef } from "../../../chat/threads.ts";
import type { ConsoleContent } from "./console-message.ts";
import { Conversations } from "./conversations.ts";
import { consoleMessageRef, consoleThread, parseMessageRef } from "./refs.ts";
import { maxUploadBytes, Uploads } from "./uploads.ts";

const messageChars = 100_000;

/** A way to write into console threads, from any process that reaches the same Redis. */
export function createConsoleSurface(options: { redis: Redis; now?: () => number }): ChatSurface {
  const { redis, now = Date.now } = options;
  const conversations = new Conversations(redis, now);
  const uploads = new Uploads(redis, now);

  const change = async (ref: MessageRef, to: (content: ConsoleContent) => ConsoleContent): Promise<void> => {
    const { thread, message } = parseMessageRef(ref);
    if (await untilStored(conversations.change(thread, message, to))) return;
    throw new SurfaceError(
      "gone",
      `The console has no message ${ref.message}: it was removed or has expired.`,
    );
  };

  const keepFile = async (thread: string, file: { name: string; data: Uint8Array }, key: string) => {
    const bytes = file.data.byteLength;
    if (bytes > maxUploadBytes) {
      const limit = `${maxUploadBytes / 1024 / 1024} MiB`;
      throw new SurfaceError(
        "rejected",
        `${file.name} is larger than ${limit}, the most that the console takes.`,
      );
    }
    const content = { kind: "file" as const, name: file.name, bytes };
    const id = await untilStored(conversations.add(thread, `upload ${key}`, content, file.data));
    return { id, name: file.name, bytes };
  };

  return {
    platform: "local",
    limits: { editIntervalMs: 80, messageChars },
    idempotentMs: Number.POSITIVE_INFINITY,

    async post(thread, posted, key) {
      // Whoever reads here need not be called.
      const { file, mentions: _, ...message } = posted;
      const refs: MessageRef[] = [];
      // Before the message that it belongs to.
      const shown =
        file && (await keepFile(thread.thread, { ...file, data: Buffer.from(file.text) }, `file ${key}`));
      for (const [part, markdown] of splitMarkdown(message.markdown, messageChars).entries()) {
        const id = await untilStored(
          conversations.add(thread.thread, `post ${part} ${key}`, {
            ...message,
            markdown,
            ...(shown && { shown }),
          }),
        );
        refs.push(consoleMessageRef(thread.thread, id));
      }
      return refs;
    },

    async openThread(_channel, markdown, key, _since, title) {
      // The key names it, so another attempt finds it.
      const id = createHash("sha256").update(key).digest("hex").slice(0, 20);
      const message = await untilStored(conversations.add(id, `post 0 ${key}`, { kind: "notice", markdown }));
      if (title) await untilStored(conversations.describe(id, { title }));
      return { thread: consoleThread(id), ref: consoleMessageRef(id, message) };
    },

    // As the page's addresses.ts reads it.
    addressOf: ({ thread }) => `#/t/${thread}`,

    async edit(ref, message) {
      await change(ref, () => ({ ...message, markdown: cutMarkdown(message.markdown, messageChars) }));
    },

    async remove(ref) {
      const { thread, message } = parseMessageRef(ref);
      await untilStored(conversations.remove(thread, message));
    },

    async threadOf(ref) {
      const { thread, message } = parseMessageRef(ref);
      const [found] = await untilStored(conversations.find(thread, [message]));
      return found ? consoleThread(thread) : undefined;
    },

    channelName: async () => "console",

    async mark(ref, mark, { place, paused = false } = {}) {
      await change(ref, (content) => ({ ...content, mark, ahead: place, paused: paused || undefined }));
      const { thread, message } = parseMessageRef(ref);
      await untilStored(conversations.setState(thread, message, mark, paused));
    },

    async upload(thread, file, key) {
      const { id } = await keepFile(thread.thread, file, key);
      return [consoleMessageRef(thread.thread, id)];
    },

    async *download(file) {
      const data = await uploads.read(file.handle);
      if (!data) throw new SurfaceError("gone", "The console no longer has this file.");
      yield data;
    },

    async release(file) {
      await uploads.release(file);
    },
  };
}

/** A Redis command that failed in transit may still have been executed, so its failure is `uncertain`. */
async function untilStored<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw new SurfaceError(
      "uncertain",
      "The console's messages could not be written: Redis did not answer.",
      { cause },
    );
  }
}
