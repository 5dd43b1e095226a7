import { findRefused, isOutOfMemory, outOfMemory } from "./out-of-memory.ts";

/** Why there is no Redis. The message names the server, the cause and the way out, and never a password. */
export class RedisUnavailable extends Error {
  override readonly name = "RedisUnavailable";
}

/** What a server answers to every command while it cannot or will not serve, whatever the command is. */
const refusals = /^(LOADING|MASTERDOWN|CLUSTERDOWN|READONLY|NOAUTH|WRONGPASS|NOPERM|MISCONF|TRYAGAIN)\b/;
/** Of a cluster that has had no primary for as long as a command waits. */
const redirections = /^Too many Cluster redirections\. Last error: (?:\w*Error: )?/;
/** Where in a script a command was refused, which differs from script to script. */
const placeInScript = / script: [0-9a-f]{40}\b[^]*$/;
const clientErrors = new Set(["ClusterAllFailedError", "MaxRetriesPerRequestError"]);

const remedy = "Look at the state of its servers and at REDIS_URL, then try again.";

/**
 * What to say of a command that Redis has not taken; undefined for every other error, which is a defect.
 * @param advice what to do
 */
export function explainRefusal(error: unknown, advice = remedy): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (isOutOfMemory(error)) return outOfMemory;
  const { name, message } = findRefused(error);
  const isOfServer =
    redirections.test(message) || clientErrors.has(name) || (name === "ReplyError" && refusals.test(message));
  if (!isOfServer) return undefined;
  const why = message.replace(redirections, "").replace(placeInScript, "").replace(/\.$/, "");
  return `Redis does not serve: ${why}. ${advice}`;
}
