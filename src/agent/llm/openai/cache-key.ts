import { createHash } from "node:crypto";
import type { Message } from "../../messages.ts";
import type { ModelRequest } from "../../model.ts";

/** By the message that a conversation begins with, which may hold large images and is read once. */
const known = new WeakMap<Message, { system: string; key: string }>();

/**
 * What OpenAI sends requests with the same beginning to the same machine by (`prompt_cache_key`,
 * https://developers.openai.com/api/docs/guides/prompt-caching): the same for all requests of a thread until its
 * beginning is replaced by a summary, and so its cache is lost anyway.
 */
export function createCacheKey({ system, messages: [first] }: ModelRequest): string {
  const entry = first && known.get(first);
  if (entry?.system === system) return entry.key;
  const key = createHash("sha256")
    .update(JSON.stringify([system, first]))
    .digest("hex")
    .slice(0, 32);
  if (first) known.set(first, { system, key });
  return key;
}
