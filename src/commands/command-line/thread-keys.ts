import { setTimeout } from "node:timers/promises";

/** Whoever presses Tab waits no longer, in ms. */
const patienceMs = 300;
/** So many of the latest threads. */
const offered = 50;

/** The latest threads; none when Redis does not say so at once. Starts no server and reports no error. */
export async function readThreadKeys(): Promise<string[]> {
  return await Promise.race([read().catch(() => []), setTimeout(patienceMs, [], { ref: false })]);
}

async function read(): Promise<string[]> {
  const { loadConfig } = await import("../../config/load.ts");
  const config = loadConfig(process.env, process.cwd());
  const { isLocalServed } = await import("../../queue/redis/local/paths.ts");
  if (!config.environment.REDIS_URL && !(await isLocalServed(config.dataDir))) return [];
  const { openRedis } = await import("../../app/redis.ts");
  const log = { info() {}, warn() {} };
  const server = await openRedis(config, log, { adopts: false, patienceMs });
  const { listSessions } = await import("../../queue/session/lists/sessions.ts");
  return (await listSessions(server.connect(), offered)).map(({ thread }) => thread);
}
