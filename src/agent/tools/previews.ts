import { z } from "zod";
import type { Exposure } from "../../sandbox/sandbox.ts";
import { type PreviewAccess, shareFolderName, sharePortName } from "../contracts/previews.ts";
import { formatInstant } from "../contracts/schedule-store.ts";
import { defineSandboxTool, type SandboxToolContext, type Tool, type ToolResult } from "./tool.ts";

const minutes = z
  .number()
  .int()
  .min(1)
  .optional()
  .describe("How long; by default as long as the operator allows");
/** Once for all turns: describing a schema to the model costs more than the rest of a tool. */
const portInput = z.object({
  port: z.number().int().min(1).max(65_535).describe("Where the server listens, on 127.0.0.1 or 0.0.0.0"),
  minutes,
});
const folderInput = z.object({
  path: z.string().min(1).describe("The folder; its index.html comes first"),
  minutes,
});
const ends = "It is a background command: bash_kill ends it, and so does a stop.";

/** The tools that show people what the thread serves. */
export function createPreviewTools(previews: PreviewAccess): Tool[] {
  return [
    defineSandboxTool({
      name: sharePortName,
      description:
        "Show people in a browser what a server of this thread answers, for example a web app that you work on: gives an address " +
        `that you pass on to them. Start the server first, as a background command. ${ends}`,
      input: portInput,
      effect: "external",
      run: (input, context) => share(previews, { port: input.port }, input.minutes, context),
    }),
    defineSandboxTool({
      name: shareFolderName,
      description:
        "Show people in a browser the files of a folder, for example a built page or a report with pictures: gives an address that " +
        `you pass on to them. Files that change are shown as they are. ${ends}`,
      input: folderInput,
      effect: "external",
      run: (input, context) => share(previews, { folder: input.path }, input.minutes, context),
    }),
  ];
}

async function share(
  previews: PreviewAccess,
  what: Exposure,
  forMinutes: number | undefined,
  { sandbox, signal }: SandboxToolContext,
): Promise<ToolResult> {
  const obstacle = previews.findObstacle();
  if (obstacle !== undefined) return { status: "error", text: obstacle };
  const result = await sandbox.expose(what, signal);
  if (!result.ok) return { status: "error", text: result.message };
  const { address, until } = previews.publish(result.exposed, forMinutes);
  return {
    status: "ok",
    text: `People can open ${address} until ${formatInstant(until)}: whoever has the address, so give it to those who asked. It is the background command ${result.exposed.job.id}, ends with a stop or with bash_kill, and shows changes at once.`,
  };
}
