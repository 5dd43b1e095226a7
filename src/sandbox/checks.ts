import { accessSync, constants, existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";

const gibibyte = 1024 ** 3;

/** Whether the folder of the workspaces can be written and how much room there is, as one line for the operator. */
export async function checkDisk(
  dataDir: string,
  freeBytes: number,
): Promise<{ level: "ok" | "warning" | "error"; text: string }> {
  const place = nearestFolder(dataDir);
  try {
    accessSync(place, constants.W_OK | constants.X_OK);
  } catch {
    const text = `${place} cannot be written by this user: make it writable, or set HEDDLE_DATA_DIR to a folder that is.`;
    return { level: "error", text };
  }
  const { bavail, bsize } = await statfs(place);
  const free = bavail * bsize;
  const room = `${(free / gibibyte).toFixed(1)} GiB free for ${dataDir}`;
  if (free < freeBytes) {
    const text = `${room}, less than sandbox.freeMb, so no thread may write: make room, or lower sandbox.freeMb in heddle.yaml.`;
    return { level: "error", text };
  }
  if (free < freeBytes + gibibyte) {
    return { level: "warning", text: `${room}; below sandbox.freeMb no thread may write: make room soon.` };
  }
  return { level: "ok", text: room };
}

/** The folder itself, or the nearest one above it that exists. */
function nearestFolder(folder: string): string {
  return existsSync(folder) ? folder : nearestFolder(dirname(folder));
}
