import { z } from "zod";
import { defineTool } from "./tool.ts";

const item = z.object({
  content: z.string().trim().min(1).max(500).describe("What is to be done"),
  status: z.enum(["pending", "in_progress", "completed"]),
});

type Item = z.infer<typeof item>;

const marks: Record<Item["status"], string> = { pending: "[ ]", in_progress: "[>]", completed: "[x]" };

/**
 * The plan of a longer task. It has no store of its own: each call carries the whole list, and the journal keeps
 * the calls.
 */
export const todo = defineTool({
  name: "todo",
  description:
    "Show the plan of a task with several steps. Send the whole list each time, with at most one item in progress, " +
    "and send it again whenever a step begins or ends.",
  input: z.object({
    items: z
      .array(item)
      .max(50)
      .refine((items) => items.filter(({ status }) => status === "in_progress").length <= 1, {
        message: "at most one item may be in_progress",
      }),
  }),
  effect: "write",
  async run({ items }) {
    const done = items.filter(({ status }) => status === "completed").length;
    const list = items.map(({ content, status }) => `${marks[status]} ${content.replace(/\s+/g, " ")}`);
    return { status: "ok", text: [`${done} of ${items.length} done`, ...list].join("\n") };
  },
});
