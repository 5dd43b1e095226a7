import type { SandboxLimits } from "../limits.ts";
import type { Job } from "../sandbox.ts";
import type { TrackedJob } from "./jobs.ts";

/** Ended jobs of a thread whose output can still be read. */
const endedJobsKept = 16;

/** Background jobs of all threads that run now. */
export interface JobCount {
  running: number;
}

/** The background jobs of one thread, within its limit and the server's. */
export interface JobTable {
  list(): Job[];
  /** Why no further job may start, for the model; undefined when one may. */
  findObstacle(): string | undefined;
  add(start: () => TrackedJob): Job;
  /** Waits for the end of all and forgets them. */
  close(): Promise<void>;
}

export function createJobTable(
  limits: Pick<SandboxLimits, "jobs" | "jobsPerThread">,
  count: JobCount,
): JobTable {
  const jobs: TrackedJob[] = [];

  async function forget(tracked: TrackedJob | undefined): Promise<void> {
    if (tracked === undefined) return;
    jobs.splice(jobs.indexOf(tracked), 1);
    await tracked.release();
  }

  return {
    list: () => jobs.map(({ job }) => job),
    findObstacle() {
      const mine = jobs.filter(({ job }) => job.status().state === "running").length;
      if (mine >= limits.jobsPerThread) {
        return `This thread already runs ${mine} background jobs, which is the limit; kill one or wait for its end.`;
      }
      if (count.running >= limits.jobs) {
        return `All ${limits.jobs} background jobs of this server are taken by other threads; try again later.`;
      }
      return undefined;
    },
    add(start) {
      count.running += 1;
      const tracked = start();
      jobs.push(tracked);
      void tracked.job.wait().then(async () => {
        count.running -= 1;
        const ended = jobs.filter(({ job }) => job.status().state === "ended");
        if (ended.length > endedJobsKept) await forget(ended[0]);
      });
      return tracked.job;
    },
    async close() {
      await Promise.all(jobs.map(({ job }) => job.wait()));
      await Promise.all([...jobs].map(forget));
    },
  };
}
