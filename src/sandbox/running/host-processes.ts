import {
  compareClaims,
  type Confirmation,
  type HostProcesses,
  type KillReport,
  nothingKilled,
} from "../sandbox.ts";
import { endPrograms } from "./end-programs.ts";
import type { RunningProgram, RunningRegistry } from "./registry.ts";

interface Host {
  running: RunningRegistry;
  keyOf(threadId: string): string;
  confirm(thread: string, confirmation: Confirmation): void;
}

/** Ends by sight what workers of this host have started. */
export function createHostProcesses({
  open,
  place,
  log,
}: {
  /** Undefined where nothing can run. */
  open(): Promise<Host | undefined>;
  place(): string | undefined;
  /** Takes why nothing could be seen. */
  log(line: string): void;
}): HostProcesses {
  async function look(act: (host: Host) => Promise<KillReport>): Promise<KillReport | undefined> {
    try {
      const host = await open();
      return host?.running.place === undefined ? undefined : await act(host);
    } catch (error) {
      log(`what runs on this host could not be looked at: ${String(error)}`);
      return undefined;
    }
  }

  return {
    place,
    takeOver: (threadId, claim) =>
      look(async ({ running, keyOf }) => {
        const thread = keyOf(threadId);
        running.markClaim(thread, claim);
        return end(running, thread, ({ kind, claim: earlier, backend }) => {
          if (kind === "job" || kind === "network") return false;
          if (earlier) return compareClaims(earlier, claim) < 0;
          // The files are this turn's: nobody else may tidy them up. Whoever only looks at them, as the console does, may go on.
          return kind !== "files" && backend !== running.backend;
        });
      }),
    confirm(threadId, confirmation) {
      void open().then((host) => host?.confirm(host.keyOf(threadId), confirmation));
    },
    endOwn: (threadId, claim) =>
      look(({ running, keyOf }) =>
        end(running, keyOf(threadId), ({ kind, claim: earlier, backend }) => {
          if (kind === "job" || kind === "network" || backend !== running.backend) return false;
          return earlier !== undefined && compareClaims(earlier, claim) <= 0;
        }),
      ),
    endAll: (threadId) => look(({ running, keyOf }) => end(running, keyOf(threadId), () => true)),
  };
}

async function end(
  running: RunningRegistry,
  thread: string,
  isMeant: (program: RunningProgram) => boolean,
): Promise<KillReport> {
  const programs = running.list(thread).filter((program) => program.isHere && isMeant(program));
  if (programs.length === 0) return nothingKilled;
  const report = await endPrograms(programs);
  if (report.survivors === 0) for (const { name } of programs) running.remove(thread, name);
  return report;
}
