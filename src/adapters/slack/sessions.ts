import type { webApi } from "@slack/bolt";
import type { BaseLogger } from "pino";
import type { ThreadRef } from "../adapter.ts";
import { refusalCode } from "./web.ts";

/**
 * Slack's own state of a thread. While it is `processing`, Slack shows its native Stop button, whose press
 * arrives as `agent_session_stopped`; Slack leaves the state to us, for an hour if we forget it.
 * https://docs.slack.dev/ai/agent-sessions
 */
type SessionState = "processing" | "active";

/**
 * Sets the state of a thread. It is an addition to our own Stop button: a failure is logged and otherwise
 * ignored, and where the app is not an agent it is not tried again.
 */
export function createSessionStates(
  client: webApi.WebClient,
  log: BaseLogger,
): (thread: ThreadRef, state: SessionState) => Promise<void> {
  let available = true;
  return async (thread, state) => {
    if (!available) return;
    try {
      await client.agents.sessions.setStatus({
        channel_id: thread.channel,
        thread_ts: thread.thread,
        status: state,
      });
    } catch (error) {
      const code = refusalCode(error) ?? "no answer";
      available = !["not_authorized", "missing_scope", "unknown_method", "access_denied"].includes(code);
      log.debug(`Slack did not set the session of a thread to ${state} (${code}).`);
    }
  };
}
