import type { Redis } from "ioredis";
import type { Question } from "../../agent/questions.ts";
import { escapeMarkdown } from "../../chat/escape-markdown.ts";
import type { ChatSurface } from "../../chat/surface.ts";
import type { ThreadRef } from "../../chat/threads.ts";
import {
  type ChannelQuestion,
  readChannelQuestions,
} from "../../queue/session/questions/channel-questions.ts";
import { toInlineCode } from "../../chat/visible-call.ts";
import { firstCharacters, formatAge } from "../text-commands/queue.ts";
import { keepOpen } from "../waiting-queue/view.ts";

export interface OpenQuestionsOptions {
  redis: Redis;
  surface(platform: string): ChatSurface;
  now(): number;
  onProblem(problem: string, error: unknown): void;
}

const mostLines = 10;

/**
 * What waits for a decision in a thread and the other threads of its channel, as Markdown with links to the questions; none
 * of a thread that not everybody there may read. Undefined where nothing waits.
 */
export async function listOpenQuestions(
  options: OpenQuestionsOptions,
  thread: ThreadRef,
): Promise<string | undefined> {
  const all = await readChannelQuestions(options.redis, thread, options.now());
  const isOwn = (one: ChannelQuestion) => one.thread.thread === thread.thread;
  const open = new Set(
    await keepOpen(
      options,
      all.filter((one) => !isOwn(one)),
    ),
  );
  const shown = all.filter((one) => isOwn(one) || open.has(one));
  if (shown.length === 0) return undefined;
  const lines = await Promise.all(shown.slice(0, mostLines).map((one) => describe(options, one, isOwn(one))));
  const left = shown.length - lines.length;
  return [
    "**Waits for a decision**",
    [...lines, ...(left > 0 ? [`- … and ${left} more`] : [])].join("\n"),
  ].join("\n\n");
}

async function describe(
  { surface, now, onProblem }: OpenQuestionsOptions,
  { thread, question, ref }: ChannelQuestion,
  isOwn: boolean,
): Promise<string> {
  const link = ref && surface(thread.platform).linkTo?.(ref);
  const address = await link?.catch((error: unknown) => {
    onProblem("The platform did not say where a question stands.", error);
  });
  const where = isOwn ? "" : ", in another thread";
  const asked = `${escapeMarkdown(question.requester.name)}, ${formatAge(now() - question.askedAt)}${where}`;
  return `- ${describeAsked(question)} · ${asked}${address === undefined ? "" : ` · [to the question](${address})`}`;
}

function describeAsked(question: Question): string {
  switch (question.kind) {
    case "approval":
      return `May I run ${toInlineCode(question.tool)}?`;
    case "account":
      return `Connect an account at ${escapeMarkdown(question.server)}`;
    case "input":
      return `${escapeMarkdown(question.request.server)} asks: ${escapeMarkdown(firstCharacters(question.request.message))}`;
    case "choice":
      return escapeMarkdown(firstCharacters(question.text));
  }
}
