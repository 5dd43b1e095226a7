import { cutText } from "../text/text.ts";
import type { TokenCounter } from "./tokens.ts";

/** How the parts of a summary's text are headed. What people asked is indented, so none of them stands there by chance. */
export const headings = {
  intents: "# What people asked, oldest first",
  unread: "# Not summarised",
  state: "# Where the work stands",
  plan: "# Plan",
  released: "# Skills that were released",
  skill: "# Skill in use",
  tool: "# Tool that was found",
};

/** The part of a summary's text that a model wrote, or that stands in its place. */
export function extractState(text: string): string {
  const start = text.startsWith(headings.state) ? 0 : text.indexOf(`\n\n${headings.state}\n`);
  if (start < 0) return text;
  const state = text.slice(start).trimStart().slice(headings.state.length);
  const ends = [headings.plan, headings.released, headings.skill, headings.tool].map((heading) =>
    state.indexOf(`\n\n${heading}\n`),
  );
  return state.slice(0, Math.min(state.length, ...ends.filter((end) => end >= 0))).trim();
}

/** The beginning of a text, of at most so many tokens. */
export function cutToTokens(text: string, tokens: number, counter: TokenCounter): string {
  let cut = text;
  for (let size = counter.count(cut); size > tokens && cut.length > 1; size = counter.count(cut))
    cut = cutText(cut, Math.max(1, Math.floor((cut.length * tokens * 0.95) / size)));
  return cut;
}
