import { randomBytes } from "node:crypto";
import { rename, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { DiskRoom } from "../thread/disk.ts";
import { removeTree } from "../workspaces/staging.ts";
import { list } from "./store-files.ts";

/** Its name says what it takes: bytes and inodes. */
const readyName = /^ready-(\d{1,15})-(\d{1,9})-[0-9a-f]{32}$/;

/** Clones that wait for a thread, a folder each beside the mirror's states. */
export interface ReadyStore {
  countReady(key: string): Promise<number>;
  /** Keeps the folder, in which nothing may run any more. */
  addReady(key: string, from: string, room: DiskRoom): Promise<void>;
  /** Takes one out for somebody who has the room: nobody else gets it. Gives its folder, which who takes it removes. */
  takeReady(key: string, hasRoom: (room: DiskRoom) => Promise<boolean>): Promise<string | undefined>;
  /** All of them, or as many as have taken so many bytes. Gives what they have. */
  removeReady(key: string, bytes?: number): Promise<number>;
}

export function createReadyStore(folderOf: (key: string) => string, now: () => number): ReadyStore {
  const pathOf = (key: string, name: string) => join(folderOf(key), name);
  const listReady = async (key: string) => (await list(folderOf(key))).filter((name) => readyName.test(name));

  /** Whoever renames it has it; from then on it counts as in use for a while, if its taker dies. */
  async function claim(key: string, name: string): Promise<string | undefined> {
    const claimed = pathOf(key, `given-${randomBytes(16).toString("hex")}`);
    try {
      await rename(pathOf(key, name), claimed);
    } catch {
      return undefined;
    }
    await utimes(claimed, now() / 1_000, now() / 1_000);
    return claimed;
  }

  return {
    countReady: async (key) => (await listReady(key)).length,
    async addReady(key, from, { bytes, inodes }) {
      const random = randomBytes(16).toString("hex");
      await rename(from, pathOf(key, `ready-${bytes}-${inodes}-${random}`));
    },
    async takeReady(key, hasRoom) {
      for (const name of await listReady(key)) {
        const claimed = (await hasRoom(roomOf(name))) ? await claim(key, name) : undefined;
        if (claimed !== undefined) return claimed;
      }
      return undefined;
    },
    async removeReady(key, enough = Number.POSITIVE_INFINITY) {
      let bytes = 0;
      for (const name of await listReady(key)) {
        if (bytes >= enough) break;
        const claimed = await claim(key, name);
        if (claimed === undefined) continue;
        await removeTree(claimed);
        bytes += roomOf(name).bytes;
      }
      return bytes;
    },
  };
}

/** Nothing for the name of something else. */
export function roomOf(name: string): DiskRoom {
  const [, bytes = 0, inodes = 0] = readyName.exec(name) ?? [];
  return { bytes: Number(bytes), inodes: Number(inodes) };
}
