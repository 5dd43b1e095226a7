import { hostname } from "node:os";
import { readInstance } from "../app/process/instance.ts";
import { hasWorker, isAlive } from "../queue/turns/worker-presence.ts";
import { printResult } from "./print-result.ts";
import { connectWithoutSettings } from "./without-settings.ts";

/**
 * For the health check of a container: exits with 0 while this Heddle says in Redis that it serves, and not any other one of this host.
 * The heartbeat needs the event loop and Redis, so a gateway and a worker are asked in the same way.
 */
export async function checkHealth({ json }: { json?: true }): Promise<number> {
  const { config, server } = await connectWithoutSettings();
  try {
    const redis = server.connect();
    const serves = await isAlive(redis, readInstance(config));
    const workers = await hasWorker(redis);
    const said = `${serves ? "serving" : "no heartbeat for 15 s"}${workers ? "" : "; no worker runs anywhere"}`;
    printResult(json, { host: hostname(), serves, workers }, `${hostname()}: ${said}`);
    return serves ? 0 : 1;
  } finally {
    await server.close();
  }
}
