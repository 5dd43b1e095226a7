import { posix } from "node:path";
import { z } from "zod";
import { defineSandboxTool } from "../tool.ts";

/** What every platform takes without a paid plan. */
const maxBytes = 8 * 1024 * 1024;

export const attachFile = defineSandboxTool({
  name: "attach_file",
  description: "Give a file of the workspace to the people in the thread.",
  input: z.object({
    path: z.string().min(1),
    name: z.string().min(1).max(128).optional().describe("What people see. Default: the file's own name"),
  }),
  effect: "external",
  async run({ path, name = path }, { sandbox, deliver, callId, signal }) {
    if (!deliver)
      return { status: "error", text: "Files cannot be attached here; tell people the path instead." };
    const read = await sandbox.readFile(path, { maxBytes, signal });
    if (!read.ok) return { status: "error", text: read.message };
    if (read.truncated) {
      return {
        status: "error",
        text: `${path} has ${read.size} bytes; at most ${maxBytes} can be attached.`,
      };
    }
    const delivered = await deliver({ name: posix.basename(name), data: read.data, key: callId, signal });
    if (!delivered.ok) return { status: "error", text: delivered.message };
    return { status: "ok", text: `Attached ${path} (${read.size} bytes).`, artifact: path };
  },
});
