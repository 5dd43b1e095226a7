import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { pino } from "pino";
import { expect, test, vi } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { auditFolder, startAuditArchiving } from "../../src/telemetry/telemetry.ts";
import { startRedis } from "../fakes/redis.ts";
import { startSilentRelay } from "../fakes/silent-relay.ts";

test("When Redis is back after minutes, the head of the audit log is noted once, and nothing gets in its way", async () => {
  const folder = await mkdtemp(join(tmpdir(), "heddle-anchoring-"));
  const server = await startRedis();
  const relay = await startSilentRelay({ path: server.path });
  const redis = new Redis(relay.port, "127.0.0.1");
  await redis.ping();
  relay.hold();
  const config = loadConfig({ HEDDLE_DATA_DIR: folder }, folder);
  const lines: string[] = [];
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const end = startAuditArchiving(
    redis,
    config,
    pino({ level: "error" }, { write: (line) => lines.push(line) }),
  );
  vi.advanceTimersByTime(20 * 60_000);
  vi.useRealTimers();
  relay.release();
  await expect.poll(() => readFile(join(auditFolder(config), "anchor.json"), "utf8")).toContain('"head"');
  // Behind whatever else was sent.
  for (let n = 0; n < 20; n += 1) await redis.ping();
  expect(lines).toEqual([]);
  end();
  redis.disconnect();
  await relay.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});
