import { dirname } from "node:path";

/** What programs need to look users up and to hear of changes; not the keychain, the clipboard or other programs. */
const services = [
  "com.apple.bsd.dirhelper",
  "com.apple.system.logger",
  "com.apple.system.notification_center",
  "com.apple.system.opendirectoryd.libinfo",
  "com.apple.system.opendirectoryd.membership",
];

/**
 * The profile for macOS's sandbox-exec: the thread's folder is the only place to write, people's homes and other
 * threads' folders cannot be read, and there is no network but the machine's own loopback. It has no namespaces:
 * processes of other threads and services on loopback can be seen. The last rule that matches counts, and paths are
 * compared after links are followed.
 *
 * @param folder the thread's folder, absolute and without links
 * @param readable folders that may be read wherever they lie, the same
 */
export function seatbeltProfile(folder: string, readable: readonly string[]): string {
  const paths = (names: readonly string[]) => names.map((name) => `(subpath ${quoted(name)})`).join(" ");
  return [
    "(version 1)",
    "(deny default)",
    "(allow process-exec process-fork sysctl-read ipc-posix-sem)",
    "(allow signal process-info* (target same-sandbox))",
    `(allow mach-lookup ${services.map((name) => `(global-name ${quoted(name)})`).join(" ")})`,
    "(allow file-read*)",
    `(deny file-read* ${paths(["/Users", "/private/var/root", "/Volumes", dirname(dirname(folder))])})`,
    `(allow file-read* ${paths([folder, ...readable])})`,
    `(allow file-read-metadata)`,
    `(allow file-write* ${paths(["ws", "tmp", "shm", "new"].map((name) => `${folder}/${name}`))} (literal "/dev/null"))`,
    '(allow network-bind network-inbound (local ip "localhost:*"))',
    // Not by the local end as well: every connection to anywhere has one.
    '(allow network-outbound (remote ip "localhost:*"))',
  ].join("\n");
}

function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
