import type { Redis } from "ioredis";
import type { UserMessage } from "../../agent/messages.ts";
import type { Author } from "../../chat/inbound.ts";
import type { ActionButton, ChoiceMenu } from "../../chat/outbound.ts";
import type { ChatSurface } from "../../chat/surface.ts";
import { threadId, type ThreadRef } from "../../chat/threads.ts";
import { listRequesters } from "../../queue/session/requesters.ts";
import { readSessionStatus } from "../../queue/session/lists/sessions.ts";
import { listWaiting } from "../../queue/session/mailbox/waiting-messages.ts";
import { readChannelQueue } from "../../queue/turns/channel-queue.ts";
import type { Access } from "../access.ts";
import { describeQueue, type QueueView } from "../text-commands/queue.ts";
import { offerButtons, offerChange, type OfferedMessage } from "./choices.ts";

export interface QueueViewOptions {
  redis: Redis;
  access: Pick<Access, "mayStop">;
  surface(platform: string): ChatSurface;
  now(): number;
  onProblem(problem: string, error: unknown): void;
}

/** The list, and what can be chosen in it: by menus where it is for one person, by buttons where it stands in the thread. */
export interface QueueOffer {
  markdown: string;
  menus: ChoiceMenu[];
  actions: ActionButton[];
}

/** What waits in a thread and around it, and what that person may change of it. */
export async function viewQueue(
  options: QueueViewOptions,
  { thread, author, tellsRefusal }: { thread: ThreadRef; author: Author; tellsRefusal?: true },
): Promise<QueueOffer> {
  const { redis } = options;
  const id = threadId(thread);
  const now = options.now();
  const [messages, status, channel] = await Promise.all([
    listWaiting(redis, id),
    readSessionStatus(redis, id),
    readChannelQueue(redis, thread, now),
  ]);
  const others = await keepOpen(options, channel.threads);
  const hidden = channel.threads.length - others.length;
  const isRunning = status === "running";
  const own = (await keepChangeable(options, { thread, author }, messages)).map((message) => ({
    message,
    thread: thread.thread,
  }));
  const elsewhere: OfferedMessage[] = others
    .filter(({ first }) => first.author.id === author.id)
    .map(({ first, thread: other }) => ({ message: first, thread: other.thread }));
  const behind = own.filter(({ message }) => message !== messages[0]);
  const movable = messages.length > 1 ? own : [];
  const menus = [
    ...offerChange("remove", [...own, ...elsewhere], now),
    ...offerChange("first", behind, now),
    ...offerChange("ask-place", movable, now),
  ];
  const hasOwnCommand = options.surface(thread.platform).ownCommands?.includes("queue") ?? false;
  const changedBy = !hasOwnCommand ? "text" : tellsRefusal ? "menus" : "own-command";
  const view: QueueView = {
    ...{ hasChannel: thread.platform !== "local", isRunning, messages, others, hidden },
    ...{ running: channel.running, now, changedBy },
  };
  return {
    markdown: describeQueue(view),
    menus,
    actions: [...offerButtons("remove", own), ...offerButtons("first", behind)],
  };
}

/** Those of the thread's messages that the person may change: the person's own, and for who may stop the thread all. */
export async function keepChangeable(
  { redis, access }: Pick<QueueViewOptions, "redis" | "access">,
  { thread, author }: { thread: ThreadRef; author: Author },
  messages: readonly UserMessage[],
): Promise<UserMessage[]> {
  const mayStop = await access.mayStop(thread, author, () => listRequesters(redis, threadId(thread)));
  return messages.filter((message) => mayStop || message.author.id === author.id);
}

/** Without the threads that not everybody in the channel may read: nobody else learns what is asked there, and by whom. */
export async function keepOpen<Line extends { thread: ThreadRef }>(
  { surface, onProblem }: Pick<QueueViewOptions, "surface" | "onProblem">,
  threads: readonly Line[],
): Promise<Line[]> {
  const isOpen = async ({ thread }: Line): Promise<boolean> => {
    try {
      return (await surface(thread.platform).isOpenThread?.(thread)) ?? true;
    } catch (error) {
      onProblem("The platform did not say who may read a thread.", error);
      return false;
    }
  };
  const open = await Promise.all(threads.map(isOpen));
  return threads.filter((_thread, index) => open[index]);
}
