import type { ResourceGroup, ResourceGroups } from "./resource-group.ts";

/** As long as a model usually takes to ask for the thread's next command, ms. */
const keptMs = 60_000;
/** The kernel has some 100 KiB for each group. */
const mostSpares = 64;

interface Spare {
  group: ResourceGroup;
  timer: NodeJS.Timeout;
}

/**
 * Gives a thread's next command the group that its last one has left, since making and removing one takes a millisecond.
 * One that has run out of something is not given again: its counter would tell of the next command what was the last one's.
 *
 * @param groups whose groups hold what they were made with until they are released
 */
export function keepSpareGroups(groups: ResourceGroups): ResourceGroups {
  /** By thread, the longest kept first. */
  const spares = new Map<string, Spare>();

  function take(thread: string): ResourceGroup | undefined {
    const spare = spares.get(thread);
    spares.delete(thread);
    clearTimeout(spare?.timer);
    return spare?.group;
  }

  function keep(thread: string, group: ResourceGroup): void {
    const timer = setTimeout(() => take(thread)?.release(), keptMs).unref();
    spares.set(thread, { group, timer });
    const [longest] = spares.keys();
    if (spares.size > mostSpares && longest !== undefined) take(longest)?.release();
  }

  return {
    ...groups,
    make(thread) {
      if (thread === undefined) return groups.make();
      const group = take(thread) ?? groups.make(thread);
      return {
        ...group,
        release() {
          if (spares.has(thread) || group.exceeded()) group.release();
          else keep(thread, group);
        },
      };
    },
    close() {
      for (const thread of spares.keys()) take(thread)?.release();
      groups.close();
    },
  };
}
