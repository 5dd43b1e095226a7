/** A thread's files as they were at one moment, kept so that an undo can bring them back. */
export interface KeptFiles {
  /** When they were kept, ms since the epoch. */
  at: number;
  files: number;
  bytes: number;
  /** Why their content is not there, as the end of a sentence; absent where it is. */
  lost?: string;
}

/** What bringing files back would do; paths of files and links relative to the workspace, sorted. */
export interface FileDifference {
  /** Those that would get their earlier content, or be there again. */
  restored: string[];
  /** Those that would go. */
  removed: string[];
  /** Of what would be written. */
  bytes: number;
}

/**
 * The checkpoints of threads' workspaces. `name` is a turn's id for the files as they were before that turn, or another
 * name that its maker chooses. What a checkpoint costs is what has changed since the one before.
 */
export interface Checkpoints {
  /**
   * Keeps the files as they are, unless that name was kept before. It takes no place of those that turns have.
   *
   * @param beside what is kept by that name stays; where both have no room, of these files no more than their names are kept
   */
  keep(threadId: string, name: string, beside?: string): Promise<KeptFiles>;
  /** Undefined where nothing was kept by that name. */
  find(threadId: string, name: string): Promise<KeptFiles | undefined>;
  /** What bringing back `to` would do to the files that were kept as `from`. */
  compare(threadId: string, from: string, to: string): Promise<FileDifference | undefined>;
  /** Whether the files are still those that were kept by that name. */
  isCurrent(threadId: string, name: string): Promise<boolean>;
  /**
   * Brings the files back that were kept by that name: all of them or, with a sentence why, none. They are made ready
   * beside the workspace first.
   *
   * @param commit asked once they are ready; false leaves everything as it is. From its true on, repeating the call brings
   * them back also after a crash.
   * @param signal heard until they are ready, and then no more
   * @throws what it was aborted with: everything is as it was
   */
  restore(
    threadId: string,
    name: string,
    commit?: () => Promise<boolean>,
    signal?: AbortSignal,
  ): Promise<{ ok: true } | { ok: false; why: string }>;
  /**
   * Fills the workspace of a new thread with what was kept of this one.
   *
   * @param commit as of `restore`
   * @throws what `signal` was aborted with
   */
  copy(
    threadId: string,
    name: string,
    target: string,
    commit?: () => Promise<boolean>,
    signal?: AbortSignal,
  ): Promise<{ ok: true } | { ok: false; why: string }>;
}

/** How much is kept. */
export interface CheckpointLimits {
  /** Checkpoints of a thread's turns, and as many that others have made; none are made when it is 0. */
  most: number;
  /** Content kept for a thread, in bytes. */
  bytes: number;
  /** How long a checkpoint is kept, ms. */
  ageMs: number;
}
