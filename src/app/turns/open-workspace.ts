import type { ThreadId } from "../../chat/threads.ts";
import type { TurnRunner } from "../../queue/turns/contracts.ts";
import type { Probe, Sandbox } from "../../sandbox/sandbox.ts";
import { hasErrorCode } from "../../sandbox/system-error.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { TurnRunnerOptions } from "./turn-runner-options.ts";

type RunInput = Parameters<TurnRunner["run"]>[0];

/** The thread's sandbox, or why it has none. A disk that takes nothing is no reason to leave people without an answer. */
export async function openWorkspace(
  { backend }: TurnRunnerOptions["sandbox"],
  { thread, claim, probe, log }: Pick<RunInput, "thread" | "claim"> & { probe: Probe; log: Logger },
): Promise<{ sandbox?: Sandbox; noSandbox: string }> {
  if (!probe.ok) return { noSandbox: probe.problems.map(({ what, fix }) => `${what} ${fix}`).join(" ") };
  try {
    return { sandbox: await backend.open(thread, claim), noSandbox: "" };
  } catch (error) {
    if (!hasErrorCode(error, "ENOSPC", "EDQUOT", "EROFS")) throw error;
    const code = String(error.code);
    log.error(
      { err: error },
      `The disk of the workspaces takes nothing (${code}), so the turn goes on without files: make room on it, or make it writable.`,
    );
    const why = code === "EROFS" ? "is read-only" : "is full";
    return { noSandbox: `The disk of Heddle's workspaces ${why}; its operator must put that right.` };
  }
}

/** Saves what the turn has left there for other workers. Never throws. */
export async function settleWorkspace({ sandbox, log }: TurnRunnerOptions, thread: ThreadId): Promise<void> {
  try {
    await sandbox.backend.settle(thread);
  } catch (error) {
    log.error({ err: error, thread }, "the workspace could not be saved for other workers");
  }
}
