import type { Redis } from "ioredis";
import { isFromPerson, type Speaker, type UserMessage } from "../../agent/messages.ts";
import { escapeMarkdown } from "../../chat/escape-markdown.ts";
import type { InboundAction, InboundMessage, IntakeResult } from "../../chat/inbound.ts";
import { type ThreadId, threadId, type ThreadRef } from "../../chat/threads.ts";
import {
  handleOf,
  listWaiting,
  moveWaiting,
  removeWaiting,
} from "../../queue/session/mailbox/waiting-messages.ts";
import type { Replies } from "../replies.ts";
import { firstWords, type QueueChange, type QueueCommand } from "../text-commands/queue.ts";
import { offerPlaces, readChoiceId } from "./choices.ts";
import { keepChangeable, type QueueOffer, type QueueViewOptions, viewQueue } from "./view.ts";

/** Somebody has changed the order of what waits, or taken a message out. For the audit log. */
export interface QueueAuditEvent {
  action: "queue-removed" | "queue-advanced" | "queue-moved";
  thread: ThreadId;
  /** Id of the message. */
  message: string;
  by: Speaker;
}

export interface WaitingQueueOptions extends QueueViewOptions {
  audit(event: QueueAuditEvent): void;
}

/** A command or a choice of somebody about what waits. */
type QueueEvent = InboundMessage | InboundAction;

/** Shows people what waits, and changes it for those who may: whoever wrote a message, and whoever may stop its thread. */
export interface WaitingQueue {
  view(event: QueueEvent): Promise<QueueOffer>;
  change(event: InboundMessage, command: Extract<QueueCommand, { do: "change" }>): Promise<IntakeResult>;
  /** Undefined for a press that means something else. */
  press(event: InboundAction): Promise<IntakeResult | undefined>;
}

/** What somebody wants to be done with a message. */
interface ChangeRequest {
  change: QueueChange;
  thread: ThreadRef;
  /** Absent when it waits no more. */
  message: UserMessage | undefined;
  /** What people call it. */
  name: string;
}

export function createWaitingQueue(
  options: WaitingQueueOptions,
  replies: Pick<Replies, "reply" | "mark">,
): WaitingQueue {
  const { redis } = options;

  const refuse = async (event: QueueEvent, markdown: string): Promise<IntakeResult> => {
    if (!event.tellsRefusal) await replies.reply(event, markdown);
    return { kind: "refused", reply: markdown };
  };

  const describeGone = (event: QueueEvent, name: string): string => {
    const hasOwnCommand = options.surface(event.thread.platform).ownCommands?.includes("queue");
    const command = hasOwnCommand ? "/queue" : "!queue";
    return `${name} does not wait here: it was taken or removed. \`${command}\` lists what waits.`;
  };

  const mayChange = async (event: QueueEvent, thread: ThreadRef, message: UserMessage): Promise<boolean> => {
    if (message.author.id === event.author.id) return true;
    // From elsewhere in the channel, where perhaps not everybody may read the thread, people change only their own.
    if (thread.thread !== event.thread.thread) return false;
    return (await keepChangeable(options, { thread, author: event.author }, [message])).length > 0;
  };

  const changeIfAllowed = async (event: QueueEvent, request: ChangeRequest): Promise<IntakeResult> => {
    const { change, thread, message, name } = request;
    if (!message) return refuse(event, describeGone(event, name));
    if (!(await mayChange(event, thread, message))) return refuse(event, describeForbidden(name));
    const id = threadId(thread);
    const done = await carryOut(redis, id, message.id, change);
    if (!done) return refuse(event, describeGone(event, name));
    if (!done.isRepeated) follow(event, { done, thread, message });
    const markdown = `\`${name}\`${describeAuthor(event, message)} ${done.state}: ${quoteSentence(message)}`;
    if (event.tellsRefusal) return { kind: "acted", thread: id, reply: markdown };
    const isFirst = await replies.reply(event, markdown);
    return { kind: "acted", thread: id, ...(!isFirst && { unchanged: true }) };
  };

  /** What others learn of a change that has happened. */
  const follow = (
    event: QueueEvent,
    { done, thread, message }: { done: QueueChanged; thread: ThreadRef; message: UserMessage },
  ) => {
    const { action, tell } = done;
    options.audit({ action, thread: threadId(thread), message: message.id, by: event.author });
    if (action === "queue-removed" && isOnPlatform(message)) {
      const { platform, workspace, channel } = thread;
      void replies.mark({ platform, workspace, channel, message: message.id }, "stopped");
    }
    const whose = describeAuthor(event, message);
    // Whoever wrote it should learn of it where the answer is for one person alone.
    if (!event.tellsRefusal || whose === "") return;
    const notice = `${escapeMarkdown(event.author.name)} ${tell(whose)}: ${quoteSentence(message)}`;
    replies
      .reply({ ...event, thread }, notice)
      .catch((error: unknown) => options.onProblem("A thread could not be told of its queue.", error));
  };

  return {
    view: (event) => viewQueue(options, event),

    async change(event, { change, handle }) {
      const { thread } = event;
      const waiting = await listWaiting(redis, threadId(thread));
      const message = waiting.find((one) => handleOf(one) === handle);
      return changeIfAllowed(event, { change, thread, message, name: handle });
    },

    async press(event) {
      const chosen = readChoiceId(event.action);
      if (!chosen) return undefined;
      // The choice names no other channel than the one where it was made.
      const thread = { ...event.thread, thread: chosen.thread };
      const waiting = await listWaiting(redis, threadId(thread));
      const message = waiting.find(({ id }) => id === chosen.message);
      const name = (message && handleOf(message)) ?? "That message";
      const { choice } = chosen;
      if (choice.do === "ask-place") {
        if (!message) return refuse(event, describeGone(event, name));
        if (!(await mayChange(event, thread, message))) return refuse(event, describeForbidden(name));
        const reply = `Where to move \`${name}\`: ${quoteSentence(message)}`;
        const menus = [offerPlaces({ message, thread: thread.thread }, waiting)];
        return { kind: "acted", thread: threadId(thread), reply, menus };
      }
      const result = await changeIfAllowed(event, { change: choice, thread, message, name });
      if (result.kind !== "acted" || result.reply === undefined) return result;
      const { markdown, menus } = await viewQueue(options, event);
      return { ...result, reply: `${result.reply}\n\n${markdown}`, menus };
    },
  };
}

/** A change that has happened. */
interface QueueChanged {
  action: QueueAuditEvent["action"];
  /** It had happened before: somebody's order came twice. */
  isRepeated: boolean;
  /** How it is with the message now, for behind its name. */
  state: string;
  /** What somebody did, for those who did not. @param whose for behind "a message" */
  tell(whose: string): string;
}

/** Undefined where the message does not wait. */
async function carryOut(
  redis: Redis,
  thread: ThreadId,
  message: string,
  change: QueueChange,
): Promise<QueueChanged | undefined> {
  if (change.do === "remove") {
    const removal = await removeWaiting(redis, thread, message);
    if (removal === "gone") return undefined;
    return {
      ...{ action: "queue-removed", isRepeated: removal === "repeated", state: "is out of the queue" },
      tell: (whose) => `took a message${whose} out of the queue`,
    };
  }
  const moved = await moveWaiting(redis, thread, message, change.to);
  if (!moved) return undefined;
  if (moved.place === 1)
    return {
      ...{ action: "queue-advanced", isRepeated: false, state: "is taken first" },
      tell: (whose) => `moved a message${whose} to the front of the queue`,
    };
  const place = `${moved.place} of ${moved.count}`;
  return {
    ...{ action: "queue-moved", isRepeated: false, state: `has place ${place} now` },
    tell: (whose) => `moved a message${whose} to place ${place} in the queue`,
  };
}

function describeForbidden(name: string): string {
  return `You may not change ${name}: only whoever wrote it may, and whoever may stop this thread.`;
}

/** For behind a name: nothing for the person's own. */
function describeAuthor(event: QueueEvent, { author }: UserMessage): string {
  return author.id === event.author.id ? "" : ` of ${escapeMarkdown(author.name)}`;
}

/** Its first words as the end of a sentence, with one full stop. */
function quoteSentence(message: UserMessage): string {
  const words = firstWords(message);
  return `“${escapeMarkdown(words)}”${/[.!?…]$/.test(words) ? "" : "."}`;
}

/** A scheduled task stands for no message that could be marked, nor does a press of Continue. */
function isOnPlatform(message: UserMessage): boolean {
  return !message.scheduled && !message.id.includes("~") && isFromPerson(message);
}
