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
 *
 * What a command leaves in its group is not to be the next one's. So it is given again only where it has run out of
 * nothing, and where nothing else of the thread still runs that it could have handed memory to.
 *
 * @param groups whose groups hold what they were made with until they are released
 */
export function keepSpareGroups(groups: Omit<ResourceGroups, "close">): ResourceGroups {
  /** By thread, the longest kept first. */
  const spares = new Map<string, Spare>();
  /** Of the thread, those that are in use. */
  const used = new Map<string, Set<ResourceGroup>>();

  function take(thread: string): ResourceGroup | undefined {
    const spare = spares.get(thread);
    spares.delete(thread);
    clearTimeout(spare?.timer);
    return spare?.group;
  }

  function takeUsable(thread: string): ResourceGroup | undefined {
    const group = take(thread);
    if (group === undefined || group.isThere()) return group;
    group.release();
    return undefined;
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
      const others = used.get(thread) ?? new Set();
      const group = takeUsable(thread) ?? groups.make(thread);
      used.set(thread, others.add(group));
      return {
        ...group,
        release() {
          others.delete(group);
          const isAlone = others.size === 0;
          if (isAlone) used.delete(thread);
          if (isAlone && !spares.has(thread) && !group.exceeded()) keep(thread, group);
          else group.release();
        },
      };
    },
    close() {
      for (const thread of spares.keys()) take(thread)?.release();
    },
  };
}
