import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type Case, output, python } from "../two-threads.ts";

/** A program that makes raw system calls, by their numbers for this machine, and prints the error number of each. */
function calls(list: string): string {
  return python(`
import ctypes, platform
libc = ctypes.CDLL(None, use_errno=True)
number = 0 if platform.machine() == "x86_64" else 1
for name, numbers, *arguments in (${list}):
    ctypes.set_errno(0)
    result = libc.syscall(numbers[number], *arguments)
    print(name, result if result >= 0 else -ctypes.get_errno())`);
}

const EPERM = -1;
const ENOSYS = -38;

export const kernelCases: Case[] = [
  {
    name: "12. namespaces and mounts cannot be made",
    needs: ["/usr/bin/python3"],
    async run({ sandbox }) {
      assert.match(await output(sandbox, "unshare -U true"), /Operation not permitted/);
      assert.match(await output(sandbox, "mount -t tmpfs x /tmp"), /permission denied|must be superuser/i);
      const seen = await output(
        sandbox,
        calls(`
          ("unshare", (272, 97), 0x10000000), ("setns", (308, 268), 0, 0), ("clone", (56, 220), 0x10000011, 0, 0, 0, 0),
          ("clone3", (435, 435), 0, 0), ("mount", (165, 40), 0, 0, 0, 0, 0), ("fsopen", (430, 430), 0, 0),
          ("open_tree", (428, 428), 0, 0, 0), ("pivot_root", (155, 41), 0, 0), ("chroot", (161, 51), 0)`),
      );
      for (const line of seen.split("\n")) {
        assert.match(line, new RegExp(` ${line.startsWith("clone3") ? ENOSYS : EPERM}$`));
      }
    },
  },
  {
    name: "12b. the memory of the first process, by which it would tell ends that are none, cannot be opened",
    needs: ["/usr/bin/python3"],
    async run({ sandbox }) {
      const program = `
for place in ("", "/task/1", "/root/proc/1", "/cwd/proc/1"):
    for mode in ("rb", "r+b"):
        try:
            with open("/proc/1" + place + "/mem", mode, buffering=0): print(place, mode)
        except OSError: pass`;
      assert.equal(await output(sandbox, python(program)), "");
    },
  },
  {
    name: "13. kernel settings cannot be written but those of the command's own namespaces",
    async run({ sandbox }) {
      const settings = ["kernel/core_pattern", "kernel/domainname", "vm/drop_caches"];
      const values = () => settings.slice(0, 2).map((name) => readFileSync(`/proc/sys/${name}`, "utf8"));
      const before = values();
      for (const name of settings) {
        assert.match(await output(sandbox, `echo 1 >/proc/sys/${name}`), /Permission denied|Read-only/);
      }
      assert.deepEqual(values(), before);
      const writable = await output(
        sandbox,
        "cd /proc/sys && find . -type f -writable -printf '%P\\n' 2>/dev/null",
      );
      // Of its own IPC and PID namespaces, which end with it.
      const own = /^(?:fs\/mqueue\/\w+|kernel\/(?:auto_msgmni|msg\w+|sem|shm\w+|ns_last_pid|pid_max))$/;
      assert.deepEqual(
        writable.split("\n").filter((name) => !own.test(name)),
        [],
      );
    },
  },
  {
    name: "14. the sandbox's first process cannot be traced, nor can any other",
    needs: ["/usr/bin/python3"],
    async run({ sandbox }) {
      const seen = await output(
        sandbox,
        calls(`("attach", (101, 117), 16, 1, 0, 0), ("traceme", (101, 117), 0, 0, 0, 0),
          ("vm_readv", (310, 270), 1, 0, 0, 0, 0, 0), ("pidfd_getfd", (438, 438), 0, 0, 0)`),
      );
      assert.equal(seen.match(/ -1$/gm)?.length, 4, seen);
    },
  },
  {
    name: "15. keys, bpf, userfaultfd, io_uring and perf are refused, and /proc/keys is empty",
    needs: ["/usr/bin/python3"],
    async run({ sandbox }) {
      const seen = await output(
        sandbox,
        calls(`("keyctl", (250, 219), 0, 0, 0), ("add_key", (248, 217), 0, 0, 0, 0, 0), ("bpf", (321, 280), 0, 0, 0),
          ("userfaultfd", (323, 282), 0), ("io_uring", (425, 425), 1, 0), ("perf", (298, 241), 0, 0, 0, 0, 0),
          ("open_by_handle_at", (304, 265), 0, 0, 0), ("personality", (135, 92), 0x0040000)`),
      );
      assert.equal(seen.match(/ -1$/gm)?.length, 8, seen);
      assert.match(await output(sandbox, "cat /proc/keys"), /^(?:.*Permission denied)?$/);
    },
  },
  {
    name: "16. a setuid program gains nothing, and every mount ignores setuid",
    async run({ sandbox }) {
      assert.equal(
        await output(sandbox, "cp /usr/bin/id own-id && chmod 6755 own-id && ./own-id -u"),
        "1000",
      );
      const mounts = await output(sandbox, "grep -v nosuid /proc/self/mounts || echo none");
      assert.equal(mounts, "none");
    },
  },
  {
    name: "17. nothing can be written outside the thread's own folders",
    async run({ sandbox }) {
      for (const folder of ["/usr", "/etc", "/", "/dev", "/run", "/usr/local/bin", "/proc/sys"]) {
        const seen = await output(sandbox, `touch ${folder}/heddle-test`);
        assert.match(seen, /Read-only file system|Permission denied|No such file/, folder);
      }
    },
  },
  {
    name: "18. devices can neither be made nor found",
    async run({ sandbox }) {
      assert.match(await output(sandbox, "mknod disk b 254 0"), /Operation not permitted/);
      const devices = (await output(sandbox, "ls /dev")).split("\n");
      assert.deepEqual(
        devices.filter((name) => /^(?:[shv]d[a-z]|nvme|mem|kmsg|kvm|vsock|fuse|loop|net|mapper)/.test(name)),
        [],
      );
    },
  },
  {
    name: "19. no terminal can be written into",
    needs: ["/usr/bin/python3"],
    async run({ sandbox }) {
      assert.match(await output(sandbox, ": </dev/tty"), /No such device or address/);
      const program = `
import fcntl, os
main, side = os.openpty()
try:
    fcntl.ioctl(side, 0x5412, b"x"); print("pushed")
except OSError as error:
    print(error.strerror)`;
      assert.equal(await output(sandbox, python(program)), "Operation not permitted");
    },
  },
];
