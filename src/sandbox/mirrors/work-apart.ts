import type { WaysOut } from "../egress/egress.ts";
import { workspaceRoot } from "../sandbox.ts";
import type { DiskFloor } from "../thread/disk-floor.ts";
import { watchDisk } from "../thread/disk.ts";
import type { Host, ThreadFolder } from "../thread/host.ts";
import type { ThreadNetwork } from "../thread/network.ts";
import { collectOutput } from "../thread/output.ts";
import type { Ending, Spawner, SpawnRequest } from "../thread/spawner.ts";
import { removeTree } from "../workspaces/staging.ts";

export interface WorkDeps {
  host: Host;
  spawner: Spawner;
  floor: DiskFloor;
  networkOf(id: string, folder: ThreadFolder, ways: WaysOut): ThreadNetwork;
}

/** How a program has ended, and what it has said. */
export type RunEnding = Ending & { stdout: Buffer; stderr: Buffer };

/** What programs run in, that belong to no thread. */
interface Apart {
  /** Undefined where the way out could not be opened. */
  joins: Awaited<ReturnType<ThreadNetwork["open"]>>;
  /** Runs a program to its end. It may write what a command may. */
  run(
    request: Pick<SpawnRequest, "program" | "view" | "joins" | "timeoutMs" | "floodBytes">,
  ): Promise<RunEnding>;
}

/**
 * Works in a sandbox that belongs to no thread, in an empty folder: its disk is watched as a thread's is, and it has a
 * network of its own. Nothing runs in the folder any more when this resolves; what lies there stays.
 *
 * @param place.id by which the proxy and the disk's floor know it
 * @param place.ways it has no network without any
 * @param place.name by which the host gives it a user and an address of its own
 */
export async function workApart<T>(
  deps: WorkDeps,
  { id, name, folder: path, ways }: { id: string; name: string; folder: string; ways?: WaysOut },
  signal: AbortSignal,
  work: (apart: Apart) => Promise<T>,
): Promise<T> {
  const { host, spawner, networkOf } = deps;
  await removeTree(path);
  const folder = host.folderOf(name, path);
  const network = ways && networkOf(id, folder, ways);
  const disk = watchDisk(deps, id, folder);
  const run: Apart["run"] = async (request) => {
    const output = collectOutput(16_384);
    const launched = spawner.launch(folder, {
      ...request,
      cwd: workspaceRoot,
      fileBytes: host.limits.fileBytes,
      signal,
      onOutput: output.take,
    });
    const watch = disk.during(() => launched.kill("disk"));
    const ending = await launched.ended;
    watch.stop();
    return { ...ending, ...output.result() };
  };
  try {
    return await work({ joins: await network?.open(), run });
  } finally {
    await disk.cancel();
    await network?.close();
  }
}
