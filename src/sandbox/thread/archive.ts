import { unusablePath } from "./files.ts";
import type { ThreadFolder } from "./host.ts";
import { threadFolders } from "./inside-path.ts";
import { shellCommand } from "./shell.ts";
import type { Spawner } from "./spawner.ts";

const archiveInside = "/archive.tar";
const timeoutMs = 30 * 60_000;
/** What tar adds to the files: a block for each of them. */
const roomFactor = 2;

/**
 * Arguments: {@link unusablePath}, archive, workspace, the thread's other folders. A folder that its owner may not enter
 * could neither be read nor be removed. Files that changed meanwhile are no failure. Prints a sign for each path that is
 * left out: tar would need memory for all of them at once, and nobody could use them by their paths.
 */
const packScript = `
unusable=$1
shift
LC_ALL=C find "\${@:2}" -xdev -path "$unusable" -printf x , -type d ! -perm -u=rwx -execdir chmod u+rwx {} ';'
LC_ALL=C find "$2" -xdev -path "$unusable" -prune -o -type f ! -perm -u=r -execdir chmod u+r {} ';'
LC_ALL=C tar -C "$2" -cSf "$1" --anchored --exclude="$unusable" . || [ $? = 1 ]
`;
const unpackScript = `tar -C "$2" -xpSf "$1"`;
/** What is newer than its copy in the archive stays, and so does what the archive does not have. */
const mergeScript = `tar -C "$2" -xpSf "$1" --keep-newer-files --warning=no-ignore-newer`;

/**
 * Makes and reads archives of workspaces inside the thread's sandbox, where its links lead nowhere else.
 *
 * @param log takes what an archive does not hold
 */
export function createArchiver(
  spawner: Spawner,
  limits: { workspaceBytes: number },
  log: (line: string) => void,
) {
  async function run(
    script: string,
    bind: string,
    folder: ThreadFolder,
    file: string,
    more: readonly string[] = [],
  ) {
    let printed = 0;
    let said = "";
    const { end, exitCode, problem } = await spawner.launch(folder, {
      program: shellCommand(script, [...more, archiveInside, ...threadFolders]),
      cwd: "/",
      view: [bind, file, archiveInside],
      timeoutMs,
      floodBytes: 1024 * 1024,
      fileBytes: roomFactor * limits.workspaceBytes,
      onOutput(stream, chunk) {
        if (stream === "stdout") printed += chunk.length;
        else said = (said + chunk.toString()).slice(-500);
      },
    }).ended;
    const worked = end === "exit" && exitCode === 0;
    return {
      printed,
      problem: worked ? undefined : (problem ?? `tar ended by ${end} ${exitCode ?? ""}: ${said.trim()}`),
    };
  }

  const reader = (script: string) => async (folder: ThreadFolder, file: string) =>
    (await run(script, "--ro-bind", folder, file)).problem;
  return {
    async pack(folder: ThreadFolder, file: string) {
      const { printed, problem } = await run(packScript, "--bind", folder, file, [unusablePath]);
      if (printed > 0) {
        log(`${printed} paths of ${folder.path} are too long to be used and are left out of its archive`);
      }
      return problem;
    },
    unpack: reader(unpackScript),
    merge: reader(mergeScript),
  };
}
