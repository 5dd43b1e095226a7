import { randomBytes } from "node:crypto";
import { userInfo } from "node:os";
import type { Redis } from "ioredis";
import type { AttachmentHandle } from "../../../agent/messages.ts";
import type { WrittenFields } from "../../../agent/server-input.ts";
import type { Author, InboundMessage, Intake, IntakeResult } from "../../../chat/inbound.ts";
import type { ThreadRef } from "../../../chat/threads.ts";
import { Conversations } from "./conversations.ts";
import { consoleMessageRef, consoleThread } from "./refs.ts";
import { Uploads } from "./uploads.ts";

/** What a person at the console or at the terminal can do. The methods reject when the {@link Intake} does. */
export interface ConsoleIntake {
  /**
   * Adds the message to the thread, where the page shows it, and hands it to intake, which posts why it refuses one; the
   * console says why one was ignored.
   * @param key the same for every attempt to say the same thing; by default each call is a new message
   */
  say(
    thread: ThreadRef,
    text: string,
    author: Author,
    key?: string,
    attachments?: AttachmentHandle[],
    chosen?: Pick<InboundMessage, "options" | "tellsRefusal">,
  ): Promise<IntakeResult>;
  /** Whether an earlier attempt with that key has added the message. Its files had come with it then. */
  wasSaid(thread: ThreadRef, key: string): Promise<boolean>;
  stop(thread: ThreadRef, author: Author): Promise<IntakeResult>;
  /** Presses a button of a message; ignored when the message does not offer it. */
  press(thread: ThreadRef, button: PressedButton, author: Author): Promise<IntakeResult>;
  /** Presses a button of a thread of any platform, wherever it is shown. */
  pressAnywhere(thread: ThreadRef, button: PressedButton, author: Author): Promise<IntakeResult>;
}

export interface PressedButton {
  message: string;
  action: string;
  /** What the person wrote when asked for a sentence. */
  text?: string;
  /** What the person put into the form that the press brought. */
  fields?: WrittenFields;
}

export function createConsoleIntake(options: {
  redis: Redis;
  intake: Intake;
  now?: () => number;
}): ConsoleIntake {
  const { redis, intake, now = Date.now } = options;
  const conversations = new Conversations(redis, now);
  const uploads = new Uploads(redis, now);

  const explainIgnored = async (thread: string, message: string, why: string): Promise<void> => {
    await conversations.change(thread, message, (content) => ({ ...content, mark: "failed" }));
    await conversations.setState(thread, message, "failed");
    await conversations.add(thread, `ignored ${message}`, { kind: "notice", markdown: `Not taken: ${why}` });
  };

  return {
    async say(thread, text, author, key = randomBytes(16).toString("hex"), attachments = [], chosen) {
      const at = now();
      const files = attachments.map((file) => file.name);
      const pictures = files.length > 0 ? await uploads.listThumbnails(thread.thread, attachments) : [];
      const content = {
        kind: "person" as const,
        name: author.name,
        text,
        ...(files.length > 0 && { files }),
        ...(pictures.some(Boolean) && { pictures }),
      };
      // The message is added before intake receives it, since a worker may mark it at once.
      const id = await conversations.add(thread.thread, saidKey(key), content);
      const result = await intake.receive({
        kind: "message",
        thread,
        ref: consoleMessageRef(thread.thread, id),
        author,
        text,
        attachments,
        ...chosen,
        addressed: "direct",
        at,
      });
      if (result.kind === "ignored") await explainIgnored(thread.thread, id, result.why);
      const told = result.kind === "refused" || result.kind === "acted" ? result.reply : undefined;
      // It was asked elsewhere, and is to be read here as well.
      if (chosen?.tellsRefusal && told !== undefined)
        await conversations.add(thread.thread, `told ${id}`, { kind: "notice", markdown: told });
      return result;
    },

    wasSaid: ({ thread }, key) => conversations.has(thread, saidKey(key)),

    async stop(thread, author) {
      return await intake.receive({ kind: "stop", target: { thread }, author, at: now(), isHostTime: true });
    },

    async press(thread, { message, action, ...written }, author) {
      const [found] = await conversations.find(thread.thread, [message]);
      const actions = found && "actions" in found ? found.actions : undefined;
      if (!actions?.some(({ id }) => id === action))
        return { kind: "ignored", why: "this button is no longer there" };
      return await intake.receive({
        kind: "action",
        thread,
        ref: consoleMessageRef(thread.thread, message),
        author,
        action,
        ...written,
        // Whoever has filled in a form reads in it what does not fit.
        ...(written.fields && { tellsRefusal: true }),
        at: now(),
      });
    },

    // Without a text a form would be the answer, which the page does not draw.
    async pressAnywhere(thread, { action, message, text = "" }, author) {
      const { platform, workspace, channel } = thread;
      return await intake.receive({
        kind: "action",
        thread,
        ref: { platform, workspace, channel, message },
        author,
        action,
        // The page shows the answer.
        tellsRefusal: true,
        text,
        at: now(),
      });
    },
  };
}

function saidKey(key: string): string {
  return `said ${key}`;
}

/** Creates a thread that nobody has written in yet. */
export function createConsoleThread(): ThreadRef {
  return consoleThread(randomBytes(8).toString("hex"));
}

/** The operator: everybody who can use the console counts as the person who runs Heddle. */
export function consoleAuthor(): Author {
  return { id: "console", name: readLoginName(), standing: "operator", roles: [] };
}

function readLoginName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a user id that has no name.
    return "console";
  }
}
