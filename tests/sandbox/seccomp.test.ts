import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assembleSeccompFilter } from "../../src/sandbox/bubblewrap/seccomp.ts";
import { type Architecture, architectureOf } from "../../src/sandbox/bubblewrap/syscalls.ts";

const allowed = 0x7fff0000;
const killed = 0x80000000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const EAFNOSUPPORT = 0x00050061;

/** What the kernel makes of a call: interprets the classic BPF that the filter uses. */
function result(filter: Uint8Array, audit: number, call: number, args: readonly number[] = []): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call, 0);
  data.writeUInt32LE(audit, 4);
  // The high half of an argument must not matter: the kernel's own calls take 32-bit values.
  args.forEach((value, index) => {
    data.writeUInt32LE(value, 16 + 8 * index);
    data.writeUInt32LE(0xdeadbeef, 20 + 8 * index);
  });
  const program = Buffer.from(filter);
  let accumulator = 0;
  for (let at = 0; at < program.length; at += 8) {
    const code = program.readUInt16LE(at);
    const operand = program.readUInt32LE(at + 4);
    const jump = (holds: boolean) => {
      at += 8 * program.readUInt8(at + (holds ? 2 : 3));
    };
    switch (code) {
      case 0x20:
        accumulator = data.readUInt32LE(operand);
        break;
      case 0x15:
        jump(accumulator === operand);
        break;
      case 0x35:
        jump(accumulator >= operand);
        break;
      case 0x45:
        jump((accumulator & operand) !== 0);
        break;
      case 0x06:
        return operand;
      default:
        throw new Error(`unknown instruction ${code}`);
    }
  }
  throw new Error("the filter ends without a verdict");
}

function known(arch: string): Architecture {
  const found = architectureOf(arch);
  if (found === undefined) throw new Error(arch);
  return found;
}

/** Numbers by the kernel's tables, written down a second time. */
const numbers = {
  x64: {
    read: 0,
    execve: 59,
    mount: 165,
    unshare: 272,
    ptrace: 101,
    bpf: 321,
    keyctl: 250,
    memfd: 319,
    shmget: 29,
  },
  arm64: {
    read: 63,
    execve: 221,
    mount: 40,
    unshare: 97,
    ptrace: 117,
    bpf: 280,
    keyctl: 219,
    memfd: 279,
    shmget: 194,
  },
} as const;
const inspected = {
  x64: { clone: 56, clone3: 435, socket: 41, ioctl: 16, personality: 135 },
  arm64: { clone: 220, clone3: 435, socket: 198, ioctl: 29, personality: 92 },
} as const;

describe.each(["x64", "arm64"] as const)("the system call filter for %s", (arch) => {
  const architecture = known(arch);
  const filter = assembleSeccompFilter(architecture, { denyUnmapped: false });
  const on = (call: number, ...args: number[]) => result(filter, architecture.audit, call, args);
  const { clone, clone3, socket, ioctl, personality } = inspected[arch];

  test("allows what every program needs and refuses what none needs", () => {
    const { read, execve, mount, unshare, ptrace, bpf, keyctl } = numbers[arch];
    expect([read, execve].map((call) => on(call))).toEqual([allowed, allowed]);
    expect([mount, unshare, ptrace, bpf, keyctl].map((call) => on(call))).toEqual(Array(5).fill(EPERM));
  });

  test("kills a program that speaks another architecture's numbers", () => {
    const i386 = 0x40000003;
    expect(result(filter, i386, 0)).toBe(killed);
    const other = known(arch === "x64" ? "arm64" : "x64");
    expect(result(filter, other.audit, 0)).toBe(killed);
  });

  test("allows clone for processes and threads, refuses it for every namespace, and hides clone3", () => {
    const SIGCHLD = 17;
    const pthread = 0x003d0f00;
    expect([on(clone, SIGCHLD), on(clone, pthread)]).toEqual([allowed, allowed]);
    for (const flag of [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]) {
      expect(on(clone, flag | SIGCHLD)).toBe(EPERM);
    }
    expect(on(clone3)).toBe(ENOSYS);
  });

  test("allows local, internet and routing sockets only", () => {
    fc.assert(
      fc.property(fc.nat(60), fc.nat(30), (family, protocol) => {
        const expected = [1, 2, 10].includes(family)
          ? allowed
          : family === 16
            ? protocol === 0
              ? allowed
              : EPERM
            : EAFNOSUPPORT;
        expect(on(socket, family, 1, protocol)).toBe(expected);
      }),
    );
  });

  test("refuses to push into terminals and to change the personality", () => {
    expect([on(ioctl, 1, 0x5412), on(ioctl, 1, 0x541c), on(ioctl, 1, 0x5413)]).toEqual([
      EPERM,
      EPERM,
      allowed,
    ]);
    expect([on(personality, 0), on(personality, 0xffffffff), on(personality, 0x40000)]).toEqual([
      allowed,
      allowed,
      EPERM,
    ]);
  });

  test("refuses memory that need not be mapped only where the kernel does not count it", () => {
    const strict = assembleSeccompFilter(architecture, { denyUnmapped: true });
    const { memfd, shmget } = numbers[arch];
    for (const call of [memfd, shmget]) {
      expect(on(call, 0, 0)).toBe(allowed);
      expect(result(strict, architecture.audit, call, [0, 0])).toBe(EPERM);
    }
  });

  test("gives every number exactly the verdict of its group", () => {
    const special = new Set<number>(Object.values(inspected[arch]));
    fc.assert(
      fc.property(fc.oneof(fc.nat(600), fc.nat(0xffffffff)), (call) => {
        if (special.has(call)) return;
        const x32 = arch === "x64" && call >= 0x40000000;
        expect(on(call)).toBe(x32 || architecture.denied.includes(call) ? EPERM : allowed);
      }),
      { numRuns: 500 },
    );
  });
});

test("there is no filter for an architecture whose numbers are not known", () => {
  expect(architectureOf("riscv64")).toBeUndefined();
});
