import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import {
  findUnitGroup,
  leaveUnitGroup,
  moveProcesses,
} from "../../src/sandbox/bubblewrap/limits/unit-group.ts";

const mounts = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime,nsdelegate 0 0\n";

describe("the group of a unit", () => {
  test("is that of a service of the system, or of a user's own systemd", () => {
    expect(findUnitGroup("0::/system.slice/heddle.service\n", mounts)).toEqual({
      unit: "heddle.service",
      folder: "/sys/fs/cgroup/system.slice/heddle.service",
    });
    const own = "/user.slice/user-1000.slice/user@1000.service/app.slice/heddle.service";
    expect(findUnitGroup(`0::${own}\n`, mounts)).toMatchObject({ unit: "heddle.service", user: "1000" });
  });

  test("is not that of a login session, of a container, or one within it", () => {
    for (const path of [
      "/user.slice/user-0.slice/session-3.scope",
      "/",
      "/system.slice/heddle.service/heddle",
    ]) {
      expect(findUnitGroup(`0::${path}\n`, mounts)).toBeUndefined();
    }
    expect(findUnitGroup("1:name=systemd:/system.slice/heddle.service\n", mounts)).toBeUndefined();
    expect(findUnitGroup("0::/system.slice/heddle.service\n", "tmpfs /tmp tmpfs rw 0 0\n")).toBeUndefined();
  });
});

describe("a unit's processes", () => {
  let folder = "";
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** What a group looks like, without the kernel: a process that was moved stays in the list. */
  function group(controllers: string) {
    folder = mkdtempSync(join(tmpdir(), "heddle-unit-"));
    writeFileSync(join(folder, "cgroup.controllers"), controllers);
    writeFileSync(join(folder, "cgroup.procs"), "12\n13\n");
    return { unit: "heddle.service", folder };
  }
  const moved = () => {
    try {
      return readFileSync(join(folder, "heddle", "cgroup.procs"), "utf8");
    } catch {
      return "";
    }
  };

  test("go into a subgroup where systemd has given the group away with its controllers", () => {
    leaveUnitGroup(group("cpu io memory pids\n"), () => true);
    expect(moved()).toBe("13");
  });

  test("stay where it has not, where a controller is missing, and where there is no group", () => {
    leaveUnitGroup(group("cpu io memory pids\n"), () => false);
    expect(moved()).toBe("");
    rmSync(folder, { recursive: true });
    leaveUnitGroup(group("memory pids\n"), () => true);
    expect(moved()).toBe("");
    leaveUnitGroup({ unit: "heddle.service", folder: "/nowhere" }, () => true);
    leaveUnitGroup(undefined, () => true);
  });

  test("stay where systemd does not know the unit", () => {
    // A user must ask about a unit of their own systemd, and root about every one.
    leaveUnitGroup({
      ...group("cpu io memory pids\n"),
      user: "4711",
      unit: "heddle-test-that-is-not.service",
    });
    expect(moved()).toBe("");
  });
});

test("every process of a real group is moved into the group within it", async (context) => {
  const mount = /^\S+ (\S+) cgroup2 /m.exec(readFileSync("/proc/mounts", "utf8"))?.[1];
  const folder = join(mount ?? "", `heddle-test-${process.pid}.service`);
  try {
    if (mount === undefined) throw new Error("none");
    mkdirSync(folder);
  } catch {
    context.skip("no writable cgroup v2 on this machine");
  }
  const children = [1, 2, 3].map(() => spawn("sleep", ["60"], { stdio: "ignore" }));
  const inner = join(folder, "heddle");
  try {
    const pids = children.map(({ pid }) => String(pid));
    for (const pid of pids) writeFileSync(join(folder, "cgroup.procs"), pid);
    moveProcesses(folder, inner);
    expect(readFileSync(join(folder, "cgroup.procs"), "utf8")).toBe("");
    expect(readFileSync(join(inner, "cgroup.procs"), "utf8").trim().split("\n").toSorted()).toEqual(
      pids.toSorted(),
    );
    moveProcesses(folder, inner);
  } finally {
    const ended = children.map((child) => once(child, "exit"));
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(ended);
    rmdirSync(inner);
    rmdirSync(folder);
  }
});
