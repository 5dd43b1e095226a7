import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";

/** What a process can see of the machine that it runs on. */
export interface HostView {
  /** Of the file system. */
  root: string;
  /** Ids that are the person's who has started Heddle. */
  own: readonly number[];
  isKubernetes: boolean;
  /** Names of network interfaces. */
  interfaces: readonly string[];
}

export function viewHost(env: Readonly<Record<string, string | undefined>>): HostView {
  const uid = process.getuid?.() ?? 0;
  // Who has become root with sudo is still the same person.
  const sudo = uid === 0 && env["SUDO_UID"] ? [Number(env["SUDO_UID"])] : [];
  return {
    root: "/",
    own: [uid, ...sudo],
    isKubernetes: env["KUBERNETES_SERVICE_HOST"] !== undefined,
    interfaces: Object.keys(networkInterfaces()),
  };
}

/**
 * Who but the person that has started Heddle can reach this machine's loopback interface, in words for that person;
 * undefined for nobody. Decision 27 says why these and no others.
 */
export async function findOthersOnHost(host: HostView): Promise<string | undefined> {
  if (host.isKubernetes) return "the other containers of its pod";
  const isContainer = ["/.dockerenv", "/run/.containerenv"].some((mark) => existsSync(join(host.root, mark)));
  if (isContainer) {
    // Accounts of an image are nobody's. Bridges are seen only from the host's own network.
    const isHostNetwork = host.interfaces.some((name) => /^(docker|podman|cni|br-|virbr|veth)/.test(name));
    return isHostNetwork ? "the host, whose network this container uses," : undefined;
  }
  const accounts = await listAccounts(host);
  if (accounts.length === 0) return undefined;
  const named = accounts.slice(0, 3).join(", ");
  return accounts.length > 3
    ? `${named} and ${accounts.length - 3} more accounts`
    : `the accounts of ${named}`;
}

async function listAccounts({ root, own }: HostView): Promise<string[]> {
  const names = new Map<number, string>();
  const closed = new Set<number>();
  const add = (uid: number, name: string) => {
    if (isPerson(uid) && !own.includes(uid) && !closed.has(uid) && !names.has(uid)) names.set(uid, name);
  };
  const passwd = await readFile(join(root, "etc/passwd"), "utf8").catch(() => "");
  const locked = await listLocked(root);
  for (const line of passwd.split("\n")) {
    const [name = "", , uid = "", , , home = "", shell = ""] = line.split(":");
    if (locked.has(name) && !existsSync(join(root, home, ".ssh/authorized_keys"))) closed.add(Number(uid));
    else if (shell !== "" && !/\/(nologin|false|sync|true)$/.test(shell)) add(Number(uid), name);
  }
  // Accounts of a directory service are in no file; whoever has logged in has left these.
  for (const folder of ["home", "Users", "run/user"]) {
    for (const name of await readdir(join(root, folder)).catch(() => [])) {
      const found = await stat(join(root, folder, name)).catch(() => undefined);
      if (found) add(found.uid, name);
    }
  }
  return [...names.values()];
}

/** Accounts whose password is locked, as images have them for their own programs. Only root can tell. */
async function listLocked(root: string): Promise<ReadonlySet<string>> {
  const shadow = await readFile(join(root, "etc/shadow"), "utf8").catch(() => "");
  const entries = shadow.split("\n").map((line) => line.split(":"));
  return new Set(entries.filter(([, password = ""]) => /^[!*]/.test(password)).map(([name = ""]) => name));
}

/** Ids of people: macOS begins at 501, Linux at 1000; nobody and what systemd makes for services are none. */
function isPerson(uid: number): boolean {
  const first = process.platform === "darwin" ? 501 : 1_000;
  return uid >= first && uid !== 65_534 && !(uid >= 61_184 && uid <= 65_533);
}
