/** What a prompt cost: all of it, and what of it the service still had. */
export interface CachedPrompt {
  tokens: number;
  cached: number;
}

/**
 * The prompt cache of OpenAI's API, as it is documented: for prompts of 1,024 tokens and more, the longest prefix in
 * steps of 128 tokens that an earlier request began with, kept for 5 to 10 minutes after its last use (here 10).
 *
 * https://developers.openai.com/api/docs/guides/prompt-caching
 */
export function createPromptCache(count: (text: string) => number) {
  const [smallest, stepTokens, keptMinutes] = [1_024, 128, 10];
  let prompts: { parts: readonly string[]; usedAt: number }[] = [];
  return {
    /**
     * @param parts tool definitions and messages in their order, as they were sent
     * @param now minutes
     */
    read(parts: readonly string[], now: number): CachedPrompt {
      prompts = prompts.filter(({ usedAt }) => now - usedAt <= keptMinutes);
      const sizes = parts.map(count);
      const tokens = sizes.reduce((sum, size) => sum + size, 0);
      let longest = 0;
      for (const prompt of prompts) {
        const shared = countShared(prompt.parts, parts);
        if (shared > 0) prompt.usedAt = now;
        longest = Math.max(longest, shared);
      }
      prompts.push({ parts, usedAt: now });
      const known = sizes.slice(0, longest).reduce((sum, size) => sum + size, 0);
      const cached = known < smallest ? 0 : known - (known % stepTokens);
      return { tokens, cached };
    },
  };
}

function countShared(one: readonly string[], other: readonly string[]): number {
  const at = one.findIndex((part, index) => part !== other[index]);
  return at === -1 ? one.length : at;
}
