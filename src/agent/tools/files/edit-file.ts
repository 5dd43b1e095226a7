import { z } from "zod";
import { isObject } from "../../llm/wire-calls.ts";
import { applyPatch } from "./apply-patch.ts";
import { applyEdits, type Edit } from "./edits.ts";
import { type FileKnowledge, fileKey } from "./file-knowledge.ts";
import { defineSandboxTool, type SandboxToolContext, type Tool, type ToolResult } from "../tool.ts";

const oneEdit = z.object({
  old_text: z.string().describe("Exactly as in the file, without line numbers"),
  new_text: z.string(),
  replace_all: z.boolean().default(false),
});

const fields = z.object({
  path: z.string().min(1).optional(),
  edits: z.array(oneEdit).min(1).max(100).optional(),
  patch: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Instead of path and edits, for several files: *** Begin Patch … *** End Patch, or a unified diff",
    ),
});

/** Once for all turns: describing a schema to the model costs more than the rest of the tool. */
const input = fields.refine(isComplete, { message: "give either path and edits, or patch" });

interface Edits {
  path: string;
  edits: readonly Edit[];
}

export function editFile(known: FileKnowledge): Tool {
  return defineSandboxTool({
    name: "edit_file",
    description:
      "Replace exact pieces of a text file, or apply a patch to several files. All edits are found in the file as it is " +
      "now, must not overlap, and are made together or not at all; so is a patch, which may also add, delete and move " +
      "files. Each old_text must occur exactly once, unless replace_all is set.",
    input,
    reshape: wrapLoneEdit,
    effect: "write",
    run({ path, edits, patch }, context) {
      if (patch !== undefined) return applyPatch(patch, known, context);
      // The input was checked: both are there.
      return edit({ path: path ?? "", edits: edits ?? [] }, known, context);
    },
  });
}

/** An edit whose fields stand beside the path, as editing tools elsewhere want them, is the only one of its call. */
function wrapLoneEdit(given: unknown): unknown {
  if (!isObject(given)) return given;
  const { edits, ...others } = { ...given } as Record<string, unknown>;
  if (!("old_text" in others) || (edits !== undefined && edits !== null)) return given;
  const isOfEdit = ([name]: [string, unknown]) => Object.hasOwn(oneEdit.shape, name);
  const entries = Object.entries(others);
  return {
    ...Object.fromEntries(entries.filter((entry) => !isOfEdit(entry))),
    edits: [Object.fromEntries(entries.filter(isOfEdit))],
  };
}

function isComplete({ path, edits, patch }: z.infer<typeof fields>): boolean {
  const hasEdits = path !== undefined && edits !== undefined;
  return patch === undefined ? hasEdits : !hasEdits && edits === undefined;
}

async function edit(
  { path, edits }: Edits,
  known: FileKnowledge,
  { sandbox, signal }: SandboxToolContext,
): Promise<ToolResult> {
  const key = fileKey(path);
  const conflict = `CONFLICT: ${path} was changed since you read it. Nothing was edited; use read_file first.`;
  const read = await sandbox.readFile(path, { signal });
  if (!read.ok) return { status: "error", text: read.message };
  if (read.sha256 === undefined) {
    return { status: "error", text: `${path} has ${read.size} bytes, too many to edit; use bash.` };
  }
  const before = known.get(key);
  if (before !== undefined && before !== read.sha256) return { status: "error", text: conflict };

  const edited = applyEdits(read.data, edits);
  if (!edited.ok) return { status: "error", text: `INVALID_PARAM: ${path}: ${edited.problem}` };
  const written = await sandbox.writeFile(path, edited.data, { ifSha256: read.sha256, signal });
  if (!written.ok) {
    return { status: "error", text: written.reason === "conflict" ? conflict : written.message };
  }
  known.set(key, written.sha256);
  return { status: "ok", text: `Edited ${path}.\n${edited.diff}` };
}
