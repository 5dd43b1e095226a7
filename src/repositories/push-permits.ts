import type { PushCommand } from "../sandbox/egress/repository.ts";

/** The only branches that are ever pushed. */
export const branchRoot = "heddle/";

/** Which pushes may pass at this moment, in this process, through the proxies of its threads. */
export interface PushPermits {
  /** Lets this commit become that branch while the work runs. */
  during<T>(place: PushPlace, change: { branch: string; commit: string }, work: () => Promise<T>): Promise<T>;
  /** Why a push may not pass; undefined when it may. Without a command, whether any may. */
  refuse(place: PushPlace, command?: PushCommand): string | undefined;
}

interface PushPlace {
  thread: string;
  /** The repository's name in the settings. */
  name: string;
}

const useTheTool =
  "nothing is pushed from here by git itself; use the tool open_pull_request, which people approve";

export function createPushPermits(): PushPermits {
  const open = new Map<string, Set<string>>();
  const keyOf = ({ thread, name }: PushPlace) => `${name} ${thread}`;
  return {
    async during(place, { branch, commit }, work) {
      const key = keyOf(place);
      const permit = `${commit} refs/heads/${branch}`;
      const permits = open.get(key) ?? new Set();
      open.set(key, permits.add(permit));
      try {
        return await work();
      } finally {
        permits.delete(permit);
        if (permits.size === 0) open.delete(key);
      }
    },
    refuse(place, command) {
      const permits = open.get(keyOf(place));
      if (!permits) return useTheTool;
      if (!command) return undefined;
      const { after, ref } = command;
      if (!ref.startsWith(`refs/heads/${branchRoot}`)) return `only branches ${branchRoot}… can be pushed`;
      return permits.has(`${after} ${ref}`) ? undefined : useTheTool;
    },
  };
}
