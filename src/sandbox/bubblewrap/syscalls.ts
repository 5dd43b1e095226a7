/**
 * System call numbers of the calls that the filter names, per architecture: x86-64 from the kernel's
 * `asm/unistd_64.h`, arm64 from `asm-generic/unistd.h`. A call that an architecture lacks is absent there.
 */
export interface Architecture {
  /** AUDIT_ARCH_* of `linux/audit.h`, which the kernel puts into every `seccomp_data`. */
  audit: number;
  /** Calls with arguments to look at. */
  inspected: Record<"clone" | "clone3" | "socket" | "ioctl" | "personality", number>;
  /** Calls that no sandboxed program has a use for, see the groups below. */
  denied: readonly number[];
  /** Memory that no process need map, which only a control group counts. */
  unmapped: Record<"memfdCreate" | "shmget", number>;
  /** x86-64 only: numbers from here on are the x32 variants of the same calls. */
  x32From?: number;
}

// name: [x86-64, arm64]
const deniedCalls: Record<string, readonly [number, number?]> = {
  // mounts
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  open_tree_attr: [467, 467],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  // namespaces
  unshare: [272, 97],
  setns: [308, 268],
  // other processes
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  pidfd_getfd: [438, 438],
  kcmp: [312, 272],
  // keys
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],
  // kernel attack surface
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  memfd_secret: [447, 447],
  fanotify_init: [300, 262],
  lookup_dcookie: [212, 18],
  // modules, kexec, reboot
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  reboot: [169, 142],
  // file handles
  open_by_handle_at: [304, 265],
  name_to_handle_at: [303, 264],
  // system administration
  swapon: [167, 224],
  swapoff: [168, 225],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  acct: [163, 89],
  syslog: [103, 116],
  vhangup: [153, 58],
  // clock
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  // hardware
  iopl: [172],
  ioperm: [173],
  modify_ldt: [154],
  // NUMA
  move_pages: [279, 239],
  migrate_pages: [256, 238],
  mbind: [237, 235],
  set_mempolicy: [238, 237],
  // obsolete
  nfsservctl: [180, 42],
  uselib: [134],
  ustat: [136],
  sysfs: [139],
  _sysctl: [156],
};

/** The table of a `process.arch`, or undefined where there is none. */
export function architectureOf(arch: string): Architecture | undefined {
  switch (arch) {
    case "x64":
      return {
        audit: 0xc000003e,
        inspected: { clone: 56, clone3: 435, socket: 41, ioctl: 16, personality: 135 },
        denied: Object.values(deniedCalls).map(([x64]) => x64),
        unmapped: { memfdCreate: 319, shmget: 29 },
        x32From: 0x40000000,
      };
    case "arm64":
      return {
        audit: 0xc00000b7,
        inspected: { clone: 220, clone3: 435, socket: 198, ioctl: 29, personality: 92 },
        denied: Object.values(deniedCalls).flatMap(([, arm64]) => (arm64 === undefined ? [] : [arm64])),
        unmapped: { memfdCreate: 279, shmget: 194 },
      };
    default:
      return undefined;
  }
}
