import { z } from "zod";
import { approvedMark, type Planning, proposePlanName } from "../planning.ts";
import { defineTool, type Tool } from "./tool.ts";

const work = "Work";
const cancel = "Cancel";

/** Once for all turns: describing a schema to the model costs more than the rest of the tool. */
const input = z.object({
  plan: z
    .string()
    .trim()
    .min(1)
    .max(20_000)
    .describe("Markdown: what you will do in which order, and what may go wrong"),
  files: z
    .array(z.string().min(1).max(400))
    .max(200)
    .default([])
    .describe("Files and folders that it changes, relative to the workspace; * stands for any text"),
});

/** Puts a plan to the person whose task it is. With an approval the same turn goes on and may write. */
export function createProposePlan(planning: Planning): Tool {
  return defineTool({
    name: proposePlanName,
    description:
      "Only where you are told to plan first: put your plan to the person whose task it is, and wait for the answer. Nothing can " +
      "be changed until it is approved.",
    input,
    effect: "read",
    asks: ({ plan, files }) => ({ text: describePlan(plan, files), choices: [work, cancel] }),
    async run({ files }, { answer }) {
      if (!answer) {
        const text = "Nobody can be asked here, so nothing may be changed: give the plan as your answer.";
        return { status: "error", text };
      }
      const { by, text } = answer;
      if (text === work) {
        planning.approve(files);
        return {
          status: "ok",
          text: `${approvedMark}${by.name}. Do what the plan says and no more; name in your answer what you had to do otherwise.`,
        };
      }
      if (text === cancel)
        return {
          status: "ok",
          text: `CANCELLED by ${by.name}: change nothing, and end with a short answer.`,
        };
      const wish = text === undefined ? "the message below says what they want" : `they want this: ${text}`;
      return {
        status: "ok",
        text: `NOT APPROVED by ${by.name}; ${wish}. Change the plan and propose it again.`,
      };
    },
  });
}

function describePlan(plan: string, files: readonly string[]): string {
  const named =
    files.length > 0 ? [`Files: ${files.map((file) => `\`${file.replaceAll("`", "'")}\``).join(", ")}`] : [];
  return [
    "**The plan.** Nothing is changed yet.",
    plan,
    ...named,
    `**${work}** begins with it. To have it changed, say what should be different.`,
  ].join("\n\n");
}
