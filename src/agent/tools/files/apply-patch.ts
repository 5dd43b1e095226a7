import type { FileFailure, Sandbox } from "../../../sandbox/sandbox.ts";
import { applyHunks } from "./apply-hunks.ts";
import { decodeText, encodeText } from "./file-text.ts";
import { type FileKnowledge, fileKey } from "./file-knowledge.ts";
import { type FileChange, parsePatch } from "./patch-text.ts";
import { quoteArgument } from "../quote.ts";
import type { SandboxToolContext, ToolResult } from "../tool.ts";

type Files = Pick<SandboxToolContext, "sandbox" | "signal">;

/** What is done to one file, worked out before anything is written. */
interface PlannedChange {
  path: string;
  /** What it is now; undefined for a new file. */
  old?: { data: Buffer; sha256: string };
  /** What it shall be; undefined for one that goes. */
  data?: Uint8Array;
  /** Whose permissions a renamed file keeps. */
  like?: string;
  summary: string;
}

/** Changes several files by a patch: all of them, or none. */
export async function applyPatch(text: string, known: FileKnowledge, files: Files): Promise<ToolResult> {
  const parsed = parsePatch(text);
  if (!parsed.ok) return refuse(`INVALID_PARAM: ${parsed.problem}`);
  const twice = findTwice(parsed.changes);
  if (twice !== undefined) return refuse(`INVALID_PARAM: ${twice} is in the patch twice; join its hunks.`);
  const plan: PlannedChange[] = [];
  for (const change of parsed.changes) {
    const planned = await planChange(change, known, files);
    if (typeof planned === "string") return refuse(planned);
    plan.push(...planned);
  }
  return carryOut(plan, known, files);
}

function refuse(problem: string): ToolResult {
  return { status: "error", text: `${problem} Nothing was changed.` };
}

function findTwice(changes: readonly FileChange[]): string | undefined {
  const seen = new Set<string>();
  for (const change of changes) {
    for (const path of [change.path, ...("to" in change && change.to ? [change.to] : [])]) {
      if (seen.has(fileKey(path))) return path;
      seen.add(fileKey(path));
    }
  }
  return undefined;
}

async function planChange(
  change: FileChange,
  known: FileKnowledge,
  files: Files,
): Promise<PlannedChange[] | string> {
  const { path } = change;
  if (change.kind === "add") {
    const content = change.lines.join("\n") + (change.endsInNewline && change.lines.length > 0 ? "\n" : "");
    return [{ path, data: Buffer.from(content), summary: `A ${path}` }];
  }
  const read = await files.sandbox.readFile(path, { signal: files.signal });
  if (!read.ok) return read.message;
  if (read.sha256 === undefined) return `${path} has ${read.size} bytes, too many to patch; use bash.`;
  const before = known.get(fileKey(path));
  if (before !== undefined && before !== read.sha256)
    return `CONFLICT: ${path} was changed since you read it; use read_file first.`;
  const old = { data: read.data, sha256: read.sha256 };
  if (change.kind === "delete") return [{ path, old, summary: `D ${path}` }];

  const decoded = decodeText(read.data);
  if (decoded === undefined) return `${path} is not UTF-8 text; use bash to change it.`;
  const applied = applyHunks(decoded.text, change.hunks);
  if (!applied.ok) return `INVALID_PARAM: ${path}: ${applied.problem}`;
  const data = encodeText(applied.text, decoded.crlf);
  const at = applied.lines.length > 0 ? ` at ${applied.lines.join(", ")}` : "";
  if (change.to === undefined || fileKey(change.to) === fileKey(path))
    return [{ path, old, data, summary: `M ${path}${at}` }];
  return [
    { path: change.to, data, like: path, summary: `R ${path} to ${change.to}${at}` },
    { path, old, summary: "" },
  ];
}

/** Writes first and removes last; what was done is undone when a file fails. */
async function carryOut(
  plan: readonly PlannedChange[],
  known: FileKnowledge,
  files: Files,
): Promise<ToolResult> {
  const ordered = [...plan.filter(({ data }) => data), ...plan.filter(({ data }) => !data)];
  const done: { change: PlannedChange; sha256: string | undefined }[] = [];
  for (const change of ordered) {
    const result = change.data
      ? await writeChange(change, change.data, files)
      : await removeFile(change.path, change.old?.sha256, files);
    if (!result.ok) {
      const left = await undo(done, files.sandbox);
      const state = left.length === 0 ? "Nothing was changed." : `Changed all the same: ${left.join(", ")}.`;
      const exists =
        result.reason === "conflict" && !change.old ? `${change.path} exists already.` : result.message;
      return { status: left.length === 0 ? "error" : "partial", text: `${exists} ${state}` };
    }
    done.push({ change, sha256: result.sha256 });
  }
  for (const { change, sha256 } of done) {
    if (sha256 === undefined) known.delete(fileKey(change.path));
    else known.set(fileKey(change.path), sha256);
  }
  const summaries = plan.map(({ summary }) => summary).filter(Boolean);
  return { status: "ok", text: `Patched:\n${summaries.join("\n")}` };
}

type Done = { ok: true; sha256?: string } | Pick<FileFailure, "ok" | "reason" | "message">;

async function writeChange(
  { path, old, like }: PlannedChange,
  data: Uint8Array,
  { sandbox, signal }: Files,
): Promise<Done> {
  const written = await sandbox.writeFile(path, data, { ifSha256: old?.sha256 ?? null, signal });
  if (written.ok && like !== undefined) {
    await sandbox.exec({
      command: `chmod --reference=${quoteArgument(like)} -- ${quoteArgument(path)}`,
      signal,
    });
  }
  return written;
}

/** Only while it has that content. */
async function removeFile(
  path: string,
  sha256: string | undefined,
  { sandbox, signal }: Pick<Files, "sandbox"> & { signal?: AbortSignal },
): Promise<Done> {
  const name = quoteArgument(path.replace(/^-/, "./-"));
  const command = `[ "$(sha256sum <${name})" = "${sha256}  -" ] && rm -- ${name}`;
  const { exitCode, stderr } = await sandbox.exec({ command, timeoutMs: 60_000, ...(signal && { signal }) });
  if (exitCode === 0) return { ok: true };
  const why = stderr.toString().trim().split("\n").at(-1) || "it has changed meanwhile";
  return { ok: false, reason: "failed", message: `${path} was not removed: ${why}.` };
}

/** The paths that could not be put back, because somebody else has changed them meanwhile. Also after a stop. */
async function undo(
  done: readonly { change: PlannedChange; sha256: string | undefined }[],
  sandbox: Sandbox,
): Promise<string[]> {
  const left: string[] = [];
  for (const { change, sha256 } of done.toReversed()) {
    const { path, old } = change;
    const undone = old
      ? await sandbox.writeFile(path, old.data, { ifSha256: sha256 ?? null })
      : await removeFile(path, sha256, { sandbox });
    if (!undone.ok) left.push(path);
  }
  return left;
}
