import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createMirrorStore } from "../../src/sandbox/mirrors/store.ts";

/** Clones as if they waited, of that many bytes each, beside a state of the mirror. */
async function openStore(bytes: number, ready: readonly number[]) {
  const root = mkdtempSync(join(tmpdir(), "heddle-mirrors-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const store = createMirrorStore(root, bytes, Date.now);
  const folder = join(root, "abcdef");
  await mkdir(join(folder, "state-000000001-a", "pack"), { recursive: true });
  await writeFile(join(folder, "used"), "");
  for (const [index, size] of ready.entries()) {
    const made = join(folder, `made-${index}`);
    await mkdir(made);
    await store.addReady("abcdef", made, { bytes: size, inodes: 1 });
  }
  return { store, folder };
}

test("where the clones that wait are too many, only as many go as there is no room for", async () => {
  const { store } = await openStore(250, [100, 100, 100, 100]);
  expect([...(await store.evict())]).toEqual(["abcdef"]);
  expect(await store.countReady("abcdef")).toBe(2);
  expect([...(await store.evict())]).toEqual([]);
  expect(await store.current("abcdef")).toBeDefined();
});

test("sizes are read while folders are renamed and removed beneath", async () => {
  const { store, folder } = await openStore(1e9, []);
  const over = new AbortController();
  const churn = async () => {
    for (let round = 0; !over.signal.aborted; round += 1) {
      const made = join(folder, `made-${round}`);
      await mkdir(join(made, "new"), { recursive: true });
      await writeFile(join(made, "part-ws"), "x");
      await rename(made, join(folder, "made-shop"));
      await rm(join(folder, "made-shop"), { recursive: true });
    }
  };
  const churning = churn();
  for (let round = 0; round < 200; round += 1) await store.evict();
  over.abort();
  await churning;
  expect(await store.current("abcdef")).toBeDefined();
});
