import { setTimeout as delay } from "node:timers/promises";
import { type Reply, replyJson, replyProblem } from "./http.ts";
import type { ConsoleStatus } from "../services.ts";

const embeddedNote =
  "embedded: a power loss may take up to a second of work, and it serves this one machine only";

/** Kubernetes gives a probe one second by default; this leaves time to say why it failed, ms. */
const timeoutMs = 700;

/**
 * Answers the probes of orchestrators and load balancers; undefined for any other path. They need no token and reveal
 * nothing about the installation; its own processes know themselves by `instance`.
 *
 * | path     | 200                                        | 503                            |
 * | -------- | ------------------------------------------ | ------------------------------ |
 * | /healthz | this process answers                       |                                |
 * | /readyz  | Redis answers, at least one worker serves and nothing else that is required fails | otherwise, with what is missing |
 */
export async function answerProbe(
  path: string,
  instance: string,
  hasWorker: () => Promise<boolean>,
  status: () => Promise<Pick<ConsoleStatus, "redis">>,
  findUnready: () => Promise<string | undefined> = async () => undefined,
): Promise<Reply | undefined> {
  if (path === "/healthz") return replyJson(200, { alive: true, instance });
  if (path !== "/readyz") return undefined;
  const silence = delay(timeoutMs, undefined, { ref: false });
  const look = async () => {
    const [worker, unready] = await Promise.all([hasWorker(), findUnready()]);
    return { worker, unready };
  };
  const found = await Promise.race([look(), silence]).catch(() => undefined);
  if (found === undefined)
    return replyProblem(
      503,
      `Redis does not answer within ${timeoutMs / 1_000} s: look at its log, the network in between and REDIS_URL.`,
    );
  if (!found.worker) {
    return replyProblem(
      503,
      "No worker serves: start one with heddle start --role worker, or read in the log of those that run whether Redis answers them.",
    );
  }
  if (found.unready !== undefined) return replyProblem(503, found.unready);
  // Ready, but whoever reads this should know.
  const { redis } = await status();
  return replyJson(200, { ready: true, ...(redis === "embedded" && { redis: embeddedNote }) });
}
