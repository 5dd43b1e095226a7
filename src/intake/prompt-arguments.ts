import { createHash } from "node:crypto";
import type { Redis } from "ioredis";
import type { InputField } from "../agent/server-input.ts";
import type { InboundAction, InboundMessage, IntakeResult } from "../chat/inbound.ts";
import { escapeMarkdown } from "../chat/escape-markdown.ts";
import type { OfferedPrompt } from "../chat/prompt-choice.ts";
import { threadId } from "../chat/threads.ts";
import { daySeconds } from "../queue/redis/keys.ts";
import { createFormDrafts } from "../queue/stores/form-drafts.ts";
import { createPendingPrompts } from "../queue/stores/pending-prompts.ts";
import { describeKept, readForm } from "./questions/input-decisions.ts";
import type { Replies } from "./replies.ts";

/** Asks whoever has chosen a prompt for the arguments that it needs, with the forms that servers' questions have. */
export interface PromptArguments {
  /** Keeps the task, and asks for what its prompt lacks. */
  ask(event: InboundMessage, prompt: OfferedPrompt): Promise<IntakeResult>;
  /** Undefined where the button is another's. @param receive takes the task once it is whole */
  press(
    event: InboundAction,
    receive: (task: InboundMessage) => Promise<IntakeResult>,
  ): Promise<IntakeResult | undefined>;
}

export function createPromptArguments(
  { redis, now }: { redis: Redis; now(): number },
  replies: Pick<Replies, "reply" | "settle">,
): PromptArguments {
  const [pending, drafts] = [createPendingPrompts(redis), createFormDrafts(redis)];
  return {
    async ask(event, prompt) {
      // The same for a message that is delivered twice.
      const id = createHash("sha256").update(event.ref.message).digest("hex").slice(0, 12);
      const fields = listFields(event, prompt);
      await pending.keep(id, { message: event, fields });
      const needed = fields.filter(({ required }) => required).map(({ name }) => `\`${name}\``);
      const words = `The prompt \`${prompt.server}/${prompt.name}\` needs ${needed.join(" and ")}. Once ${escapeMarkdown(event.author.name)} has filled that in, the task begins.`;
      const button = { id: `prompt:${id}`, label: "Fill in…", style: "primary" } as const;
      await replies.reply(event, words, [
        { ...button, asksFor: "A line “name: value” for each", inputs: fields.length },
      ]);
      return { kind: "acted", thread: threadId(event.thread), reply: words };
    },

    async press(event, receive) {
      const [, id] = /^prompt:([0-9a-f]{12})$/.exec(event.action) ?? [];
      if (id === undefined) return undefined;
      const thread = threadId(event.thread);
      const waiting = await pending.find(thread, id);
      const choice = waiting?.message.options?.prompt;
      if (!waiting || !choice) {
        const reply = "This task has begun already, or a day has passed. Choose the prompt again.";
        // It leads nowhere any more, for anybody.
        replies.settle(event, reply);
        return { kind: "refused", reply };
      }
      const { message, fields } = waiting;
      if (event.author.id !== message.author.id)
        return {
          kind: "refused",
          reply: `This is not for you to fill in: ${message.author.name} has chosen the prompt.`,
        };
      const draft = event.window?.continues ? await drafts.read(thread, id) : {};
      const read = readForm({ title: `${choice.server}/${choice.name}`, fields }, event, draft);
      if ("form" in read) return { kind: "acted", thread, form: read.form };
      if ("kept" in read) {
        await drafts.keep(thread, id, read.kept, now() + daySeconds * 1_000);
        return { kind: "acted", thread, reply: describeKept(read.left), continues: true };
      }
      if (!("content" in read)) {
        const { isRefused: _isRefused, ...refusal } = read;
        return { kind: "refused", ...refusal };
      }
      const written = Object.entries(read.content).map(([name, value]) => [name, String(value)] as const);
      const prompt = { ...choice, arguments: { ...choice.arguments, ...Object.fromEntries(written) } };
      // A stop that was ordered meanwhile was not meant for it.
      const task = {
        ...message,
        author: event.author,
        options: { ...message.options, prompt },
        at: event.at,
      };
      const result = await receive(task);
      if (result.kind !== "accepted" && result.kind !== "duplicate") return result;
      await Promise.all([pending.drop(thread, id), drafts.drop(thread, id)]);
      const by = escapeMarkdown(event.author.name);
      replies.settle(
        event,
        `${by} has filled in what the prompt \`${choice.server}/${choice.name}\` needs, and the task has begun.`,
      );
      return { kind: "acted", thread };
    },
  };
}

/** What was not written. */
function listFields({ options }: InboundMessage, { arguments: named }: OfferedPrompt): InputField[] {
  const given = options?.prompt?.arguments ?? {};
  return named
    .filter(({ name }) => !given[name])
    .map(({ name, about, required }) => ({
      ...{ name, title: name, kind: "text", required },
      ...(about !== undefined && { about }),
    }));
}
