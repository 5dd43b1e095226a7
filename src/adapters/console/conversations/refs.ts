import { type MessageRef, threadId, type ThreadRef } from "../../../chat/threads.ts";

/** The whole address of a console thread: `id` is the only part that differs. */
export function consoleThread(id: string): ThreadRef {
  return { platform: "local", workspace: "console", channel: "main", thread: id };
}

/** A console message's ref carries its thread, so that it can be found again by the ref alone. */
export function consoleMessageRef(thread: string, message: string): MessageRef {
  return { platform: "local", workspace: "console", channel: "main", message: `${thread}.${message}` };
}

export function parseMessageRef(ref: MessageRef): { thread: string; message: string } {
  const [thread = "", message = ""] = ref.message.split(".");
  return { thread, message };
}

/** Whether `id` may name a thread: it becomes a part of Redis keys and of the page's addresses. */
export function isThreadId(id: string): boolean {
  return /^[a-z0-9]{8,32}$/.test(id);
}

/** Whether that may be the id of a thread of any platform. */
export function isSession(id: string): boolean {
  return /^[^:]+(:[^:]+){3}$/.test(id) && id.length <= 300;
}

/** The id of a thread of any platform: the console's own go by their last part alone as well. */
export function toWholeThread(id: string): string {
  return isThreadId(id) ? threadId(consoleThread(id)) : id;
}

/** The id of a console thread by its last part alone; any other as it is. */
export function toConsoleId(id: string): string {
  const last = id.split(":").at(-1) ?? "";
  return id === toWholeThread(last) ? last : id;
}
