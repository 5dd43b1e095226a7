import { z } from "zod";
import type { Job, JobStatus, Sandbox } from "../../sandbox/sandbox.ts";
import { cutText } from "../text/text.ts";
import { describeExitCode } from "../exit-code.ts";
import { quoteArgument } from "./quote.ts";
import { defineSandboxTool, type ToolResult } from "./tool.ts";

/** Bytes of output that one call shows, and that one call with a filter looks through. */
const windowBytes = 48 * 1024;
const filteredBytes = 1024 * 1024;

export const bashOutput = defineSandboxTool({
  name: "bash_output",
  description:
    "Read the output of a background command and whether it still runs. Nothing is used up by reading: the same " +
    "offset shows the same output again.",
  input: z.object({
    id: z.string(),
    offset: z
      .number()
      .int()
      .min(0)
      .default(0)
      .describe("The byte to start from: the next offset of the last call"),
    filter: z
      .string()
      .min(1)
      .optional()
      .describe("Show only lines that match this extended regular expression, as grep -E has it"),
  }),
  effect: "read",
  async run({ id, offset, filter }, { sandbox, callId, signal, now }) {
    const job = sandbox.jobs().find((known) => known.id === id);
    if (!job) return refuseUnknownJob(id, sandbox);
    const status = job.status();
    const read = await job.read(offset, filter === undefined ? windowBytes : filteredBytes);
    const { data, total } = read;
    const complete = status.state === "ended" && read.next >= total;
    const shown = complete ? data : cutToWholeLines(data);
    const start = read.next - data.length;
    const next = start + shown.length;
    const lost = start > offset ? `; ${start - offset} bytes before them were not kept` : "";
    const head = `${describe(job, status, now())}; bytes ${start} to ${next} of ${total}, next offset ${next}${lost}`;

    if (filter === undefined)
      return { status: "ok", text: `${head}\n${shown.toString() || "(no new output)"}` };
    const found = await filterLines(sandbox, shown, filter, callId, signal);
    if (!found.ok) return { status: "error", text: found.message };
    return { status: "ok", text: `${head}\n${found.lines || "(no line matches)"}` };
  },
});

export const bashKill = defineSandboxTool({
  name: "bash_kill",
  description: "End a background command with all processes that it started.",
  input: z.object({ id: z.string() }),
  effect: "write",
  async run({ id }, { sandbox, now }) {
    const job = sandbox.jobs().find((known) => known.id === id);
    if (!job) return refuseUnknownJob(id, sandbox);
    const before = job.status();
    if (before.state === "ended")
      return { status: "ok", text: `${describe(job, before, now())}; nothing to end` };
    const { processes, survivors } = await job.kill();
    const status = await job.wait();
    const { total } = await job.read(0, 1);
    const counts = `${processes} processes ended, ${survivors} survived; ${total} bytes of output`;
    return { status: survivors === 0 ? "ok" : "error", text: `${describe(job, status, now())}; ${counts}` };
  },
});

/** Only the jobs of this thread: the sandbox knows no others. */
function refuseUnknownJob(id: string, sandbox: Sandbox): ToolResult {
  const known = sandbox.jobs().map((job) => `${job.id} (${job.status().state})`);
  const which = known.length === 0 ? "there are none" : `known ones: ${known.join(", ")}`;
  return { status: "error", text: `This thread has no background command "${cutText(id, 64)}"; ${which}.` };
}

function describe(job: Job, status: JobStatus, now: number): string {
  if (status.state === "running") return `${job.id} is running for ${formatSeconds(now - job.startedAt)}`;
  return `${job.id} ended after ${formatSeconds(status.endedAt - job.startedAt)}: ${endOf(status)}`;
}

/** What `bash_output` has told without for how long the command runs: the same for two looks between which nothing came. */
export function withoutRuntime(text: string): string {
  return text.replace(/^(\S+ is running) for \d+\.\d s;/, "$1;");
}

function endOf({ end, exitCode }: { end: string; exitCode: number | null }): string {
  if (exitCode === null) return `killed (SIGKILL)${end === "stopped" ? "" : `, over its limit of ${end}`}`;
  return describeExitCode(exitCode);
}

function formatSeconds(ms: number): string {
  return `${(Math.max(ms, 0) / 1000).toFixed(1)} s`;
}

/** Without a last line that is not complete, if there is any line before it. */
export function cutToWholeLines(data: Buffer): Buffer {
  const end = data.lastIndexOf("\n");
  return end < 0 ? data : data.subarray(0, end + 1);
}

/** The pattern is hostile: grep runs in the sandbox, where a pattern that takes for ever is simply ended. */
async function filterLines(
  sandbox: Sandbox,
  data: Buffer,
  filter: string,
  callId: string,
  signal: AbortSignal,
): Promise<{ ok: true; lines: string } | { ok: false; message: string }> {
  const file = `/tmp/.filter-${callId.replace(/[^A-Za-z0-9]/g, "").slice(-24)}`;
  const written = await sandbox.writeFile(file, data, { signal });
  if (!written.ok) return written;
  const command = `grep -aE -e ${quoteArgument(filter)} ${file}; status=$?; rm -f ${file}; exit $status`;
  const { end, exitCode, stdout, stderr } = await sandbox.exec({ command, timeoutMs: 10_000, signal });
  if (end === "exit" && exitCode !== null && exitCode < 2) return { ok: true, lines: stdout.toString() };
  const why = end === "exit" ? stderr.toString().trim() : `it was ended (${end})`;
  return { ok: false, message: `INVALID_PARAM: the filter did not work: ${why}. Nothing was read.` };
}
