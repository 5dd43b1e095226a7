import { z } from "zod";
import { defineTool } from "./tool.ts";

/** The label of a button; Slack takes 75 characters, Discord 80. */
const choiceChars = 75;

/** Lets the agent put a question to the person whose task it is. The turn waits for the answer without a worker. */
export const askUser = defineTool({
  name: "ask_user",
  description:
    "Ask the person whose task this is, and wait for the answer, which may take hours. Only for what you can neither " +
    "find out nor sensibly assume, such as a choice between real alternatives. Choices become buttons; the person can " +
    "also write something else.",
  input: z.object({
    question: z.string().trim().min(1).max(1_500),
    choices: z
      .array(z.string().trim().min(1).max(choiceChars))
      .max(5)
      .default([])
      .describe("Short, at most five"),
  }),
  effect: "read",
  asks: ({ question, choices }) => ({ text: question, choices }),
  async run(_input, { answer }) {
    if (!answer) {
      const text = "Nobody can be asked here. Decide yourself and say so, or report what is to be decided.";
      return { status: "error", text };
    }
    const { by, text = "with the message below" } = answer;
    return { status: "ok", text: `${by.name} answered: ${text}` };
  },
});
