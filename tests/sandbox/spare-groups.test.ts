import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ResourceGroups } from "../../src/sandbox/bubblewrap/limits/resource-group.ts";
import { keepSpareGroups } from "../../src/sandbox/bubblewrap/limits/spare-groups.ts";

/** Groups that are numbered, of which one can be told to be used up, or to be gone. */
function numberedGroups() {
  let made = 0;
  const released: number[] = [];
  const usedUp = new Set<number>();
  const gone = new Set<number>();
  const groups: Omit<ResourceGroups, "close"> = {
    summary: "numbered",
    countsEverything: true,
    make() {
      const number = ++made;
      return {
        entrances: [String(number)],
        admit() {},
        isThere: () => !gone.has(number),
        exceeded: () => (usedUp.has(number) ? "memory" : undefined),
        release: () => void released.push(number),
      };
    },
  };
  const spares = keepSpareGroups(groups);
  const take = (thread?: string) => {
    const group = spares.make(thread);
    return { number: Number(group.entrances[0]), release: group.release };
  };
  return { take, released, usedUp, gone, close: () => spares.close() };
}

describe("the group that a command leaves", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("is that of its thread's next command, and of no other", () => {
    const { take } = numberedGroups();
    take("a").release();
    expect(take("b").number).toBe(2);
    expect(take().number).toBe(3);
    expect(take("a").number).toBe(1);
    expect(take("a").number).toBe(4);
  });

  test("is given up where something of its thread still runs, to which it could have handed memory", () => {
    const { take, released } = numberedGroups();
    const [command, job] = [take("a"), take("a")];
    command.release();
    expect(released).toEqual([1]);
    job.release();
    expect(released).toEqual([1]);
    expect(take("a").number).toBe(2);
  });

  test("is not given where another Heddle has swept it away", () => {
    const { take, released, gone } = numberedGroups();
    take("a").release();
    gone.add(1);
    expect(take("a").number).toBe(2);
    expect(released).toEqual([1]);
  });

  test("is not given again where it has been used up, or belongs to no thread", () => {
    const { take, released, usedUp } = numberedGroups();
    const command = take("a");
    usedUp.add(command.number);
    command.release();
    take().release();
    expect(released).toEqual([1, 2]);
    expect(take("a").number).toBe(3);
  });

  test("is given up after a minute, at the end, and for the newest of too many", () => {
    const { take, released, close } = numberedGroups();
    take("a").release();
    vi.advanceTimersByTime(60_000);
    expect(released).toEqual([1]);
    for (let thread = 0; thread < 65; thread += 1) take(String(thread)).release();
    expect(released).toEqual([1, 2]);
    close();
    expect(released).toHaveLength(66);
    vi.advanceTimersByTime(60_000);
    expect(released).toHaveLength(66);
  });
});
