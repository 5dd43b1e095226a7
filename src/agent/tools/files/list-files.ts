import { z } from "zod";
import type { FileEntry } from "../../../sandbox/sandbox.ts";
import { defineSandboxTool } from "../tool.ts";

export const listFiles = defineSandboxTool({
  name: "list_files",
  description:
    "List the files below a folder, sorted by path, with their sizes in bytes, without what .gitignore names.",
  input: z.object({
    path: z.string().min(1).optional().describe("Default: the whole workspace"),
    limit: z.number().int().min(1).max(5_000).default(1_000),
    glob: z.string().min(1).optional().describe('Only such files, for example "**/*.ts"'),
    ignored: z.boolean().default(false).describe("Also what .gitignore names"),
  }),
  effect: "read",
  async run({ path, limit, glob, ignored }, { sandbox, signal }) {
    const listed = await sandbox.listFiles(path, {
      limit,
      signal,
      leaveOutIgnored: !ignored,
      ...(glob !== undefined && { glob }),
    });
    if (!listed.ok) return { status: "error", text: listed.message };
    if (listed.entries.length === 0) return { status: "ok", text: "There are no files." };
    const lines = listed.entries.map(formatEntry);
    if (listed.truncated)
      lines.push(`[only the first ${limit} entries; list a folder below, or use a larger limit]`);
    return { status: "ok", text: lines.join("\n") };
  },
});

function formatEntry({ path, type, bytes }: FileEntry): string {
  switch (type) {
    case "directory":
      return `${path}/`;
    case "file":
      return `${path}  ${bytes}`;
    case "link":
      return `${path}  (link)`;
    case "other":
      return `${path}  (special)`;
  }
}
