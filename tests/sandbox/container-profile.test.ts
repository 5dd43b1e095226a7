import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { dataFolder } from "./two-threads.ts";

// deploy/seccomp.json: what a container of docker-compose.yml may ask of the kernel.

const path = fileURLToPath(new URL("../../deploy/seccomp.json", import.meta.url));
const applied = fileURLToPath(new URL("./apply-profile.py", import.meta.url));
const probe = fileURLToPath(new URL("./print-probe.ts", import.meta.url));

/** As engines read it: the format of Docker's own profile, and of it only what this one uses. */
const profileSchema = z.strictObject({
  defaultAction: z.literal("SCMP_ACT_ERRNO"),
  defaultErrnoRet: z.literal(1),
  archMap: z.array(
    z.strictObject({ architecture: z.string(), subArchitectures: z.array(z.string()).length(0) }),
  ),
  syscalls: z.array(
    z.strictObject({
      comment: z.string().optional(),
      names: z.array(z.string().regex(/^[a-z_0-9]+$/)).min(1),
      action: z.enum(["SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"]),
      errnoRet: z.int().optional(),
      args: z
        .array(
          z.strictObject({
            index: z.int().min(0).max(5),
            value: z.int(),
            valueTwo: z.int().optional(),
            op: z.enum(["SCMP_CMP_EQ", "SCMP_CMP_MASKED_EQ"]),
          }),
        )
        .optional(),
    }),
  ),
});
const profile = profileSchema.parse(JSON.parse(readFileSync(path, "utf8")));

/** What becomes of a call: `allowed`, or the number of its error. */
function decide(name: string, args: readonly number[] = []): "allowed" | number {
  const rule = profile.syscalls.find(
    ({ names, args: tests = [] }) =>
      names.includes(name) &&
      tests.every(({ index, value, valueTwo = 0, op }) => {
        const given = BigInt(args[index] ?? 0);
        return op === "SCMP_CMP_EQ" ? given === BigInt(value) : (given & BigInt(value)) === BigInt(valueTwo);
      }),
  );
  if (!rule) return profile.defaultErrnoRet;
  return rule.action === "SCMP_ACT_ALLOW" ? "allowed" : (rule.errnoRet ?? profile.defaultErrnoRet);
}

const [NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET] = [
  ...[0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000],
] as const;
const SIGCHLD = 17;

/** Nothing of Heddle or its sandboxes makes these, and each has been the way out of containers or into kernels. */
const dangerous = [
  ...["bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register"],
  ...["kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot"],
  ...["keyctl", "add_key", "request_key", "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd"],
  ...["kcmp", "process_madvise", "open_by_handle_at", "name_to_handle_at", "fanotify_init", "memfd_secret"],
  ...["fsopen", "fsconfig", "fsmount", "fspick", "open_tree", "move_mount", "mount_setattr", "chroot"],
  ...["setdomainname", "swapon", "swapoff", "quotactl", "acct", "syslog", "vhangup", "iopl", "ioperm"],
  ...["modify_ldt", "settimeofday", "clock_settime", "adjtimex", "mbind", "move_pages", "set_mempolicy"],
  ...["lookup_dcookie", "nfsservctl", "uselib", "ustat", "sysfs", "_sysctl"],
];

describe("the system call profile of the container", () => {
  test("is for the 64-bit architectures that the sandbox is for, and has each plain call once", () => {
    expect(profile.archMap.map(({ architecture }) => architecture)).toEqual([
      "SCMP_ARCH_X86_64",
      "SCMP_ARCH_AARCH64",
    ]);
    const plain = profile.syscalls.filter(({ args }) => !args).flatMap(({ names }) => names);
    expect(new Set(plain).size).toBe(plain.length);
    const conditional = profile.syscalls.filter(({ args }) => args).flatMap(({ names }) => names);
    expect(conditional.filter((name) => plain.includes(name))).toEqual([]);
  });

  test.each([
    ["clone", [NEWNS + NEWCGROUP + NEWUTS + NEWIPC + NEWUSER + NEWPID + NEWNET + SIGCHLD]],
    ["clone", [SIGCHLD]],
    ["unshare", [NEWUSER]],
    ["setns", [0, NEWUSER]],
    ["setns", [0, NEWNET]],
    ["setns", [0, NEWUSER + NEWNET]],
    ["mount", []],
    ["umount2", []],
    ["pivot_root", []],
    ["sethostname", []],
    ["socket", [16]],
    ["prctl", []],
    ["seccomp", []],
    ["capset", []],
  ] as const)("allows %s %j, which bubblewrap and nsenter make", (name, args) => {
    expect(decide(name, args)).toBe("allowed");
  });

  test.each([
    ["clone", [NEWNS + SIGCHLD]],
    ["clone", [NEWNET + NEWPID + SIGCHLD]],
    ["unshare", [NEWNS]],
    ["unshare", [NEWUSER + NEWNET]],
    ["setns", [0, 0]],
    ["setns", [0, NEWNS]],
    ["setns", [0, NEWPID]],
    ["socket", [17]],
    ["socket", [38]],
    ["socket", [40]],
    ["personality", [0x0040000]],
  ] as const)("refuses %s %j", (name, args) => {
    expect(decide(name, args)).toBe(1);
  });

  test("lets glibc fall back from clone3, whose flags no filter can read", () => {
    expect(decide("clone3")).toBe(38);
  });

  test.each(dangerous)("refuses %s", (name) => {
    expect(decide(name)).toBe(1);
  });

  const library = spawnSync("python3", ["-c", "import ctypes; ctypes.CDLL('libseccomp.so.2')"]).status === 0;

  test("as the kernel applies it, refuses the same calls", (context) => {
    if (!library) return context.skip("python3 or libseccomp is not installed");
    const options = { encoding: "utf8" } as const;
    expect(execFileSync("python3", [applied, path, "refused", ...dangerous], options)).toBe("");
    expect(execFileSync("python3", [applied, path, "refused", "getpid", "prctl"], options)).toBe(
      "getpid\nprctl\n",
    );
  });

  test("as the kernel applies it, has sandboxes pass the probe, and commands share a thread's network", (context) => {
    if (!library) return context.skip("python3 or libseccomp is not installed");
    const folder = dataFolder();
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const program = [process.execPath, "--disable-warning=ExperimentalWarning", probe, folder];
    const { stdout, stderr } = spawnSync("python3", [applied, path, "run", ...program], { encoding: "utf8" });
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      ok: true,
      problems: [],
      job: true,
      answer: expect.stringMatching(/200$/),
    });
  });
});
