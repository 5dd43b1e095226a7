import type { InboundMessage } from "../../chat/inbound.ts";
import { followPrompt, type OfferedPrompt, readPromptChoice, writePrompt } from "../../chat/prompt-choice.ts";

/** Whether it is `!prompt` alone, which lists them. */
export function isBarePrompt(text: string): boolean {
  return /^[!/]prompt$/i.test(text.trim());
}

const mostShown = 30;

/** What there is to choose from, for the person who asked. */
export function describePrompts(offered: readonly OfferedPrompt[]): string {
  if (offered.length === 0)
    return "No prompts of MCP servers are known so far: they are found when a task first uses its servers, and few servers have any.";
  const lines = offered
    .slice(0, mostShown)
    .map((prompt) => `- \`${writePrompt(prompt)}\`${prompt.description && ` ${prompt.description}`}`);
  const more = offered.length > mostShown ? [`- and ${offered.length - mostShown} more`] : [];
  return [
    "Write `!prompt`, one of these and your task to begin it with that prompt:",
    [...lines, ...more].join("\n"),
  ].join("\n\n");
}

/**
 * The same message, with the prompt that it names behind `!prompt` as a choice. Without a task, that is to follow the
 * prompt.
 */
export function choosePrompt(event: InboundMessage): InboundMessage {
  const written = /^[!/]prompt\s+(.+)$/is.exec(event.text.trim())?.[1];
  const read = written === undefined ? undefined : readPromptChoice(written);
  if (!read) return event;
  const { choice, rest } = read;
  return {
    ...event,
    text: rest || followPrompt(choice),
    options: { ...event.options, prompt: choice },
  };
}
