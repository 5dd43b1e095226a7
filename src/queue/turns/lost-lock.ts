/**
 * Whether BullMQ tells that the lock of a job has expired, or that a failover has lost the job: for each job twice or more,
 * and no defect. The job is done again, which must do no harm.
 */
export function isLostLock(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^(could not renew lock for|Missing (lock|key) for|Lock mismatch for) job /.test(error.message)
  );
}
