import type { ThreadFolder } from "./host.ts";
import { threadFolders } from "./inside-path.ts";
import { shellCommand } from "./shell.ts";
import type { Spawner } from "./spawner.ts";

const archiveInside = "/archive.tar";
const timeoutMs = 30 * 60_000;
/** What tar adds to the files: a block for each of them. */
const roomFactor = 2;

/** Arguments: archive, workspace, the thread's other folders. A folder that its owner may not enter could neither be read nor be removed. Files that changed meanwhile are no failure. */
const packScript = `
find "\${@:2}" -xdev -type d ! -perm -u=rwx -exec chmod u+rwx {} ';'
find "$2" -xdev -type f ! -perm -u=r -exec chmod u+r {} ';'
tar -C "$2" -cSf "$1" . || [ $? = 1 ]
`;
const unpackScript = `tar -C "$2" -xpSf "$1"`;
/** What is newer than its copy in the archive stays, and so does what the archive does not have. */
const mergeScript = `tar -C "$2" -xpSf "$1" --keep-newer-files --warning=no-ignore-newer`;

/** Makes and reads archives of workspaces inside the thread's sandbox, where its links lead nowhere else. */
export function createArchiver(spawner: Spawner, limits: { workspaceBytes: number }) {
  const run = (script: string, bind: string) => async (folder: ThreadFolder, file: string) => {
    let said = "";
    const { end, exitCode, problem } = await spawner.launch(folder, {
      program: shellCommand(script, [archiveInside, ...threadFolders]),
      cwd: "/",
      view: [bind, file, archiveInside],
      timeoutMs,
      floodBytes: 1024 * 1024,
      fileBytes: roomFactor * limits.workspaceBytes,
      onOutput: (_stream, chunk) => (said = (said + chunk.toString()).slice(-500)),
    }).ended;
    if (end === "exit" && exitCode === 0) return undefined;
    return problem ?? `tar ended by ${end} ${exitCode ?? ""}: ${said.trim()}`;
  };
  return {
    pack: run(packScript, "--bind"),
    unpack: run(unpackScript, "--ro-bind"),
    merge: run(mergeScript, "--ro-bind"),
  };
}
