import type { Said } from "./candidate.ts";

/** A conversation of that many messages of some 200 characters; it ends with the assistant's. */
export function conversation(messages: number): Said[] {
  return Array.from({ length: messages }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    text: `Message ${index}: ${"the quick brown fox jumps over the lazy dog and goes on ".repeat(4).slice(0, 180)}`,
  }));
}
