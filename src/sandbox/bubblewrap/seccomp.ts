import type { Architecture } from "./syscalls.ts";

/** One classic BPF instruction (`struct sock_filter`). */
interface Instruction {
  code: number;
  /** Instructions to skip when the comparison holds, and when it does not. */
  jumpTrue: number;
  jumpFalse: number;
  operand: number;
}

// Codes of linux/bpf_common.h; every load is an absolute 32-bit word of `struct seccomp_data`.
const loadWord = 0x20;
const jumpEqual = 0x15;
const jumpAtLeast = 0x35;
const jumpAnyBit = 0x45;
const give = 0x06;

const allow = 0x7fff0000;
const killProcess = 0x80000000;
const errno = (number: number) => 0x00050000 | number;
const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

const callNumberOffset = 0;
const auditOffset = 4;
/** Offset of the low half of argument `index`; the kernel's 64-bit arguments start at 16, little-endian here. */
const argumentOffset = (index: number) => 16 + 8 * index;

const load = (offset: number): Instruction => ({
  code: loadWord,
  jumpTrue: 0,
  jumpFalse: 0,
  operand: offset,
});
const result = (value: number): Instruction => ({ code: give, jumpTrue: 0, jumpFalse: 0, operand: value });

/** Runs `block`, which must end in a return, when the comparison holds; else goes on behind it. */
function runWhen(code: number, operand: number, block: Instruction[]): Instruction[] {
  return [{ code, jumpTrue: 0, jumpFalse: block.length, operand }, ...block];
}

function unless(code: number, operand: number, block: Instruction[]): Instruction[] {
  return [{ code, jumpTrue: block.length, jumpFalse: 0, operand }, ...block];
}

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET of linux/sched.h. */
const namespaceFlags = 0x7e020000;
const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const NETLINK_ROUTE = 0;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;

/**
 * The system call filter for `bwrap --seccomp`, as the bytes that the kernel takes.
 *
 * It allows what programs need and refuses namespaces, mounts, other processes' memory, keys, socket families
 * that a network namespace does not cover (vsock), and kernel interfaces with a history of exploits.
 *
 * @param denyUnmapped also refuse memory that no process need map, for hosts without a memory cgroup.
 */
export function assembleSeccompFilter(
  architecture: Architecture,
  options: { denyUnmapped: boolean },
): Uint8Array {
  const { clone, clone3, socket, ioctl, personality } = architecture.inspected;
  return assemble([
    load(auditOffset),
    ...unless(jumpEqual, architecture.audit, [result(killProcess)]),
    load(callNumberOffset),
    ...(architecture.x32From === undefined
      ? []
      : runWhen(jumpAtLeast, architecture.x32From, [result(errno(EPERM))])),
    // libc falls back to clone, whose flags can be looked at; clone3 has them behind a pointer.
    ...runWhen(jumpEqual, clone3, [result(errno(ENOSYS))]),
    ...runWhen(jumpEqual, clone, [
      load(argumentOffset(0)),
      ...runWhen(jumpAnyBit, namespaceFlags, [result(errno(EPERM))]),
      result(allow),
    ]),
    ...runWhen(jumpEqual, socket, [
      load(argumentOffset(0)),
      ...[AF_UNIX, AF_INET, AF_INET6].flatMap((family) => runWhen(jumpEqual, family, [result(allow)])),
      ...runWhen(jumpEqual, AF_NETLINK, [
        load(argumentOffset(2)),
        ...runWhen(jumpEqual, NETLINK_ROUTE, [result(allow)]),
        result(errno(EPERM)),
      ]),
      result(errno(EAFNOSUPPORT)),
    ]),
    ...runWhen(jumpEqual, ioctl, [
      load(argumentOffset(1)),
      ...[TIOCSTI, TIOCLINUX].flatMap((request) => runWhen(jumpEqual, request, [result(errno(EPERM))])),
      result(allow),
    ]),
    ...runWhen(jumpEqual, personality, [
      load(argumentOffset(0)),
      // 0 is the default persona, all ones only asks for the current one.
      ...[0, 0xffffffff].flatMap((persona) => runWhen(jumpEqual, persona, [result(allow)])),
      result(errno(EPERM)),
    ]),
    ...(options.denyUnmapped ? unmappedMemory(architecture) : []),
    ...architecture.denied.flatMap((call) => runWhen(jumpEqual, call, [result(errno(EPERM))])),
    result(allow),
  ]);
}

/** A namespace has 4,096 segments of System V at most; small ones are for locks, as PostgreSQL's of its data. */
function unmappedMemory({ unmapped: { memfdCreate, shmget } }: Architecture): Instruction[] {
  const size = argumentOffset(1);
  return [
    ...runWhen(jumpEqual, memfdCreate, [result(errno(EPERM))]),
    ...runWhen(jumpEqual, shmget, [
      load(size + 4),
      ...unless(jumpEqual, 0, [result(errno(EPERM))]),
      load(size),
      ...runWhen(jumpAtLeast, 65_536, [result(errno(EPERM))]),
      result(allow),
    ]),
  ];
}

function assemble(program: Instruction[]): Uint8Array {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, { code, jumpTrue, jumpFalse, operand }] of program.entries()) {
    const at = index * 8;
    bytes.writeUInt16LE(code, at);
    bytes.writeUInt8(jumpTrue, at + 2);
    bytes.writeUInt8(jumpFalse, at + 3);
    bytes.writeUInt32LE(operand, at + 4);
  }
  return bytes;
}
