/**
 * The profile for macOS's sandbox-exec: the thread's folder is the only place to write, people's homes cannot be
 * read, and there is no network but the machine's own loopback. It has no namespaces: processes of other threads
 * and services on loopback can be seen.
 *
 * @param folder the thread's folder, absolute
 * @param readable folders that may be read although they lie in somebody's home
 */
export function seatbeltProfile(folder: string, readable: readonly string[]): string {
  const paths = (names: readonly string[]) => names.map((name) => `(subpath ${quoted(name)})`).join(" ");
  return [
    "(version 1)",
    "(deny default)",
    "(allow process-exec process-fork signal sysctl-read mach-lookup)",
    "(allow file-read*)",
    `(deny file-read* ${paths(["/Users", "/private/var/root", "/Volumes"])})`,
    `(allow file-read* ${paths([folder, ...readable])})`,
    `(allow file-read-metadata)`,
    `(allow file-write* ${paths([`${folder}/ws`, `${folder}/tmp`, `${folder}/shm`])} (literal "/dev/null"))`,
    '(allow network* (local ip "localhost:*") (remote ip "localhost:*"))',
  ].join("\n");
}

function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
