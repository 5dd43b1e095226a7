export const openRepositoryName = "open_repository";
export const openPullRequestName = "open_pull_request";

/** The repositories as the tools of one turn reach them: those that the operator has given to the channel. */
export interface RepositoryAccess {
  readonly list: readonly Repository[];
  /** Begins the names of all branches that this thread pushes. */
  readonly branchPrefix: string;
  /** Whose task it is. */
  requester(): { name: string } | undefined;
  /** How that person is named as co-author there, e.g. `Ada <ada@example.com>`; undefined where the operator has not said it. */
  coAuthor(repository: Repository): string | undefined;
  /**
   * Remembers whose branch it is and lets exactly this push pass while the work runs.
   *
   * @param change.commit its id, the only one that passes
   */
  whilePushing<T>(repository: Repository, change: BranchChange, work: () => Promise<T>): Promise<T>;
  /** Opens a pull request, or finds the one that is open already. Never throws for an expected failure. */
  openPullRequest(
    repository: Repository,
    proposal: PullRequestProposal,
    signal: AbortSignal,
  ): Promise<OpenedPullRequest>;
}

export interface Repository {
  /** The operator's, and of the folder that it is cloned into. */
  name: string;
  /** Owner and name, as people call it. */
  title: string;
  /** What git is given in the sandbox. */
  address: string;
  /** The branch that pull requests go to; absent where it is the host's default. */
  branch?: string;
  /** What the host calls it; absent where Heddle cannot open any. */
  request?: "pull request" | "merge request";
  push: "ask" | "allow" | "deny";
  setup?: string;
  /** Whose content decides whether it must be run again; without it every commit does. */
  setupFiles?: readonly string[];
}

export interface BranchChange {
  branch: string;
  commit: string;
}

export interface PullRequestProposal {
  branch: string;
  base: string;
  title: string;
  body: string;
  draft: boolean;
}

/** `message` is one sentence for the model. */
export type OpenedPullRequest =
  | { ok: true; url: string; number: number; isNew: boolean }
  | { ok: false; message: string; outage?: boolean };
