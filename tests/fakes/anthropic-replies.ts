import type { FakeReply } from "./anthropic.ts";

/** The model answers with this text. */
export const says = (text: string): FakeReply => ({ content: [{ type: "text", text }] });

/** The model calls bash with each of these, in one step. */
export const runs = (...commands: string[]): FakeReply => ({
  content: commands.map((command) => ({ type: "tool_use", name: "bash", input: { command } })),
});
