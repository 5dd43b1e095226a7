import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { inspectHost } from "../../src/sandbox/bubblewrap/inspect-host.ts";
import { createThreadNetwork } from "../../src/sandbox/bubblewrap/network.ts";
import { forkSpawner } from "../../src/sandbox/bubblewrap/spawner.ts";
import { closedEgress } from "../../src/sandbox/egress/egress.ts";
import { defaultLimits } from "../../src/sandbox/limits.ts";
import { defaultFence } from "../../src/sandbox/running/fence.ts";
import { dataFolder } from "./two-threads.ts";

test("A network that is being closed is joined by nothing; another is opened beside it", async () => {
  const dataDir = dataFolder();
  const inspected = inspectHost({ dataDir, limits: defaultLimits, requiresGroups: false });
  if (!inspected.ok) throw new Error(inspected.problem.what);
  const { host } = inspected;
  const spawner = forkSpawner().prepare(
    {
      limits: host.limits,
      systemMounts: host.systemMounts,
      running: join(host.root, "running"),
      backend: "test",
      fence: defaultFence,
    },
    () => {},
  );
  try {
    const folder = host.folderOf("thread");
    const shared = { threadId: "thread", egress: closedEgress, socketFolder: dataDir, log() {} };
    const network = createThreadNetwork({ spawner, folder, ...shared });
    const first = await network.open();
    expect(network.current()).toBe(first);

    const closing = network.close();
    expect(network.current()).toBeUndefined();
    const second = await network.open();
    await closing;
    expect(second).toBeDefined();
    expect(second).not.toBe(first);
    expect(network.current()).toBe(second);
  } finally {
    await spawner.close();
    rmSync(dataDir, { recursive: true });
  }
});
