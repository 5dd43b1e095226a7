/**
 * A program of the operator's that runs beside the threads for as long as it is needed, in a sandbox of its own, and is
 * spoken to over its standard streams. MCP servers are such programs.
 *
 * It sees the system's programs, a folder of its own (its home and `/tmp`, which stay) and what its {@link ServiceAccess}
 * names; its environment is what the request names. The limits of a command hold for it, but for time and output.
 */
export interface ServiceRequest {
  /** Who has the same name has the same home. */
  name: string;
  /** A path, or a name that is looked up inside. */
  command: string;
  args: readonly string[];
  /** Beside `PATH`, `HOME` and the like; never on a command line. */
  env: Readonly<Record<string, string>>;
  /** Absolute. Default: its home. */
  cwd?: string | undefined;
  access: ServiceAccess;
  onOutput(stream: "stdout" | "stderr", chunk: Buffer): void;
}

/** What a service may use of the host. */
export interface ServiceAccess {
  /** Absolute paths of files and folders, which it sees under the same path. */
  read: readonly string[];
  /** The same, and it may write there. */
  write: readonly string[];
  /**
   * `example.com` and `*.example.com`, through a proxy, ports 80 and 443. `host`: the network of the machine, its
   * loopback included.
   */
  network: readonly string[] | "host";
}

export type ServiceStart =
  | { ok: true; service: Service }
  /**
   * One clause, without a full stop. `no-sandbox`: nothing can be started on this machine. `refused`: what the request
   * asks for cannot be granted.
   */
  | { ok: false; reason: "no-sandbox" | "refused"; problem: string };

export interface Service {
  /** Feeds its standard input. Rejects when it has ended. */
  write(chunk: Uint8Array): Promise<void>;
  closeInput(): void;
  /** Resolves when no process of it is alive. Never rejects. */
  readonly ended: Promise<ServiceEnd>;
  /** Hosts that it has asked for and may not reach; the first ten. */
  refusedHosts(): readonly string[];
  /** Kills every process of it, and resolves when none is alive. */
  kill(): Promise<void>;
}

export interface ServiceEnd {
  /** 128 + n for signal n; null where it was ended by somebody else. */
  exitCode: number | null;
  /** Why it was ended, or never began: one clause, without a full stop. */
  problem?: string | undefined;
}

/** Starts services. */
export interface ServiceHost {
  /** Never rejects. */
  serve(request: ServiceRequest): Promise<ServiceStart>;
}

/** Of the host's, every service sees these. Its `/tmp` and `/workspace` are its own. */
const seenByAll = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/dev", "/proc"];
const ownFolders = ["/tmp", "/workspace"];

/** Where a service finds programs by their names. */
export const servicePath = ["/usr/local/bin", "/usr/bin", "/bin"];

/** Whether a service with this access has this path. */
export function isSeen(path: string, { read, write }: ServiceAccess): boolean {
  return ownFolders.includes(path) || [...seenByAll, ...read, ...write].some((seen) => isWithin(path, seen));
}

/** Whether a path is that folder or below it. Both are absolute. */
export function isWithin(path: string, folder: string): boolean {
  const base = folder.replace(/\/+$/, "");
  return path === base || path.startsWith(`${base}/`);
}
