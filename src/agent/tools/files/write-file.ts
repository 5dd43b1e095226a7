import { z } from "zod";
import { countLines } from "../../context/truncate.ts";
import { type FileKnowledge, fileKey } from "./file-knowledge.ts";
import { defineSandboxTool, type Tool } from "../tool.ts";

const input = z.object({ path: z.string().min(1), content: z.string() });

export function writeFile(known: FileKnowledge): Tool {
  return defineSandboxTool({
    name: "write_file",
    description:
      "Write a whole file, creating folders as needed. A file that exists must have been read in this turn and be " +
      "unchanged since. To change a part of a file use edit_file.",
    input,
    effect: "write",
    async run({ path, content }, { sandbox, signal }) {
      const key = fileKey(path);
      const before = known.get(key);
      const data = Buffer.from(content);
      const written = await sandbox.writeFile(path, data, { ifSha256: before ?? null, signal });
      if (written.ok) {
        known.set(key, written.sha256);
        const size = `${countLines(content)} lines, ${data.length} bytes`;
        return { status: "ok", text: `${before === undefined ? "Created" : "Replaced"} ${path}: ${size}.` };
      }
      if (written.reason !== "conflict") return { status: "error", text: written.message };
      const why =
        before === undefined
          ? "exists and has not been read in this turn"
          : "is not as you know it: it was changed or removed";
      return { status: "error", text: `CONFLICT: ${path} ${why}. Nothing was written; use read_file first.` };
    },
  });
}
