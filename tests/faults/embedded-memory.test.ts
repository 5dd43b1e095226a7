import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { note } from "./figures.ts";
import { full } from "./extent.ts";

const program = (dataDir: string) => `
  const { connectRedis } = await import(${JSON.stringify(new URL("../../src/queue/redis/choose-server.ts", import.meta.url).href)});
  await connectRedis({ dataDir: ${JSON.stringify(dataDir)}, searchPath: "", log: { info() {}, warn() {} } });
  console.log("ready");
  setInterval(() => undefined, 1_000);`;

/** A journal's records and a head that changes, and a job that comes and goes: what a turn writes, by size and kind. */
async function turn(client: Redis, n: number): Promise<number> {
  const thread = n % 200;
  const pipeline = client.pipeline();
  const record = "x".repeat(1_500);
  for (let step = 0; step < 3; step++) {
    pipeline.rpush(`journal:${thread}`, record);
    pipeline.hset(`head:${thread}`, "length", n, "status", "running", "notes", "x".repeat(400));
    pipeline.eval(
      "redis.call('HSET', KEYS[1], 'a', ARGV[1]) redis.call('PEXPIRE', KEYS[1], 600000) return redis.call('HGETALL', KEYS[1])",
      1,
      `job:${n % 50}`,
      record,
    );
  }
  pipeline.zadd("threads", n, `thread-${thread}`);
  pipeline.lrange(`journal:${thread}`, -20, -1);
  pipeline.del(`job:${n % 50}`);
  await pipeline.exec();
  return 3 * record.length;
}

test("The embedded server takes at most twice what is stored and 50 MB", { timeout: 600_000 }, async () => {
  const turns = full ? 10_000 : 300;
  const dataDir = await mkdtemp(join(tmpdir(), "heddle-memory-"));
  const child = spawn(process.execPath, ["--input-type=module", "-e", program(dataDir)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const client = new Redis(join(dataDir, "redis", "embedded.sock"), { lazyConnect: true });
  try {
    await once(child.stdout, "data");
    await client.connect();
    const residentMB = () =>
      Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) / 1_000;
    // The scripts' interpreter is loaded.
    await turn(client, 0);
    const before = residentMB();
    let stored = 0;
    for (let n = 1; n <= turns; n++) stored += await turn(client, n);
    const grown = residentMB() - before;
    const storedMB = stored / 1e6;
    note("embedded-server", { turns, storedMB: Math.round(storedMB), grown: Math.round(grown) });
    expect(grown).toBeLessThan(2 * storedMB + 50);
  } finally {
    client.disconnect();
    child.kill("SIGKILL");
    await once(child, "exit");
    await rm(dataDir, { recursive: true, force: true });
  }
});
