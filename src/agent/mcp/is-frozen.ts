import { z } from "zod";
import { untilAborted } from "../until-aborted.ts";
import { startDeadline } from "./deadline.ts";
import { type Link, withoutOwnTimeout } from "./transport/link.ts";

/**
 * Whether a server does not even list its tools within that time, ms: a call may be slow, and everything else still be
 * answered beside it. Never rejects.
 *
 * @param life aborts when nobody wants to know any more
 */
export async function isFrozen(link: Link, silentMs: number, life: AbortSignal): Promise<boolean> {
  const deadline = startDeadline(silentMs, life);
  try {
    const options = { signal: deadline.signal, ...withoutOwnTimeout };
    await untilAborted(link.client.request({ method: "tools/list" }, z.unknown(), options), deadline.signal);
    return false;
  } catch {
    // Any other error is an answer, or the connection's own end.
    return deadline.expired();
  } finally {
    deadline.release();
  }
}
