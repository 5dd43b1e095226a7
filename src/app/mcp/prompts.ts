import { toModelToolName } from "../../agent/mcp/listing/names.ts";
import type { OfferedPrompt } from "../../chat/prompt-choice.ts";
import { threadId, type ThreadRef } from "../../chat/threads.ts";
import type { Settings } from "../../config/schema.ts";
import type { PromptIndex } from "../../queue/stores/mcp-prompts.ts";
import { channelSettings, isListed } from "../channel-settings.ts";

/** Whether a channel may use a prompt: as if it were a tool of its server, for it may read what that server knows. */
export function mayUsePrompt(
  tools: readonly string[] | undefined,
  { server, name }: Pick<OfferedPrompt, "server" | "name">,
): boolean {
  return isListed(tools, toModelToolName(server, name));
}

/** The prompts that a person may begin a task with in a place. */
export async function listOfferedPrompts(
  index: PromptIndex,
  settings: Settings,
  { place, author }: { place: ThreadRef; author: { id: string } },
): Promise<OfferedPrompt[]> {
  const { tools } = channelSettings(settings, threadId(place));
  const offered = await index.list(`${place.platform}:${place.workspace}:${author.id}`);
  return offered.filter((prompt) => mayUsePrompt(tools, prompt));
}
