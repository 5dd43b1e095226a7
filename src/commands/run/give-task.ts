import { consoleAuthor, createConsoleIntake } from "../../adapters/console/conversations/intake.ts";
import { Uploads } from "../../adapters/console/conversations/uploads.ts";
import type { AttachmentHandle, PromptChoice } from "../../agent/messages.ts";
import type { AppContext } from "../../app/context.ts";
import type { ThreadRef } from "../../chat/threads.ts";
import type { TaskInput } from "./task-input.ts";

/** Why a task was not taken, or what a text command, which is none, has to say. */
export interface GivenAnswer {
  markdown: string;
  isRefused: boolean;
}

/** Puts the task into the thread; undefined: it is there, and a turn will answer. */
export async function giveTask(
  { text, files }: TaskInput,
  {
    context,
    thread,
    model,
    prompt,
  }: {
    context: Pick<AppContext, "redis" | "intake">;
    thread: ThreadRef;
    model: string | undefined;
    prompt: PromptChoice | undefined;
  },
): Promise<GivenAnswer | undefined> {
  const { redis } = context;
  const refuse = (markdown: string): GivenAnswer => ({ markdown, isRefused: true });
  const uploads = new Uploads(redis, Date.now);
  const attachments: AttachmentHandle[] = [];
  for (const file of files) {
    const kept = await uploads.keep(thread.thread, file);
    if (!kept.ok) return refuse(kept.why);
    const handle = await uploads.claim(thread.thread, kept.id);
    if (handle) attachments.push(handle);
  }
  const intake = createConsoleIntake({ redis, intake: context.intake });
  const options = { ...(model !== undefined && { model }), ...(prompt && { prompt }) };
  // All is said here: nobody is asked elsewhere to fill in what a prompt lacks.
  const chosen = { options, tellsRefusal: true as const };
  const result = await intake.say(thread, text, consoleAuthor(), undefined, attachments, chosen);
  switch (result.kind) {
    case "refused":
      return refuse(
        model === undefined ? result.reply : `${result.reply} modelChoices in heddle.yaml lists them.`,
      );
    case "ignored":
      return refuse(`Not taken: ${result.why}.`);
    case "acted":
      return { markdown: result.reply ?? "Done.", isRefused: false };
    default:
      return undefined;
  }
}
