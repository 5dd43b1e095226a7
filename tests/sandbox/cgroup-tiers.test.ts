import { expect, test } from "vitest";
import { defaultLimits } from "../../src/sandbox/limits.ts";
import { possibleTiers } from "../../src/sandbox/bubblewrap/limits/cgroup-tiers.ts";

const limits = {
  ...defaultLimits,
  memoryBytes: 1024,
  processes: 10,
  threadMemoryBytes: 2048,
  threadProcesses: 20,
  allMemoryBytes: 8192,
  allProcesses: 80,
};
const unified = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime,nsdelegate 0 0\n";
const legacy = ["memory", "pids", "cpu,cpuacct", "cpuset"]
  .map((name) => `cgroup /test/${name} cgroup rw,nosuid,relatime,${name} 0 0\n`)
  .join("");

/** Where the groups of commands would be made. */
function parents(groups: string, mounts: string): string[][] {
  return possibleTiers(limits, groups, mounts).map(({ memory, others }) =>
    [memory, ...others].map(({ parent }) => parent),
  );
}

test("a service in a delegated subgroup makes groups beside itself", () => {
  const tiers = possibleTiers(limits, "0::/system.slice/heddle.service/bot\n", unified);
  expect(tiers).toHaveLength(1);
  expect(tiers[0]?.memory).toMatchObject({
    parent: "/sys/fs/cgroup/system.slice/heddle.service",
    settings: { "memory.max": 1024, "memory.oom.group": 1, "pids.max": 18, "cpu.max": "200000 100000" },
    ofThread: { "memory.max": 2048, "pids.max": 28 },
    ofAll: { "memory.max": 8192, "pids.max": 88 },
  });
});

test("a share of the CPUs is a whole number of microseconds, whatever it is", () => {
  const [tier] = possibleTiers({ ...limits, cpus: 1.1 }, "0::/\n", unified);
  expect(tier?.memory.settings).toMatchObject({ "cpu.max": "110000 100000" });
});

test("a service without a delegated subgroup, or a login session, makes none", () => {
  expect(parents("0::/system.slice/heddle.service\n", unified)).toEqual([]);
  expect(parents("0::/user.slice/user-1000.slice/session-3.scope\n", unified)).toEqual([]);
});

test("at the top of the tree, groups are made there", () => {
  expect(parents("0::/\n", unified)).toEqual([["/sys/fs/cgroup"]]);
});

test("the three trees of version 1 are found by controller, not by a similar name", () => {
  // These mounts do not exist here, as the paths of a host do not inside a container: then the mount is the group.
  const groups = "9:cpuset:/x\n8:cpu,cpuacct:/y\n7:pids:/\n6:memory:/z\n";
  expect(parents(groups, legacy)).toEqual([["/test/memory", "/test/pids", "/test/cpu,cpuacct"]]);
});

test("a host without the controllers offers nothing", () => {
  expect(parents("1:name=systemd:/\n", "cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0\n")).toEqual(
    [],
  );
});
