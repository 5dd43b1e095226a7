import type { webApi } from "@slack/bolt";
import type { BaseLogger } from "pino";
import type { ThreadRef } from "../adapter.ts";
import { refusalCode } from "./web.ts";

/**
 * Slack's own state of a thread. While it is `processing`, Slack shows its native Stop button, whose press
 * arrives as `agent_session_stopped`; Slack leaves the state to us, for an hour if we forget it. `suspended`: people are to
 * decide something.
 * https://docs.slack.dev/ai/agent-sessions
 */
type SessionState = "processing" | "suspended" | "active";

/** Both are additions to what our messages show: a failure is logged and otherwise ignored. */
interface ThreadStatus {
  session(thread: ThreadRef, state: SessionState): Promise<void>;
  /** The line "Heddle is …" under the thread. Slack takes it away after two minutes or with our next message. */
  line(thread: ThreadRef, text: string): Promise<void>;
}

/** What says that the app may not do this here, now and later. */
const final = new Set(["not_authorized", "missing_scope", "unknown_method", "access_denied", "not_allowed"]);

export function createThreadStatus(client: webApi.WebClient, log: BaseLogger): ThreadStatus {
  const session = whereAvailable("the session of a thread", log);
  const line = whereAvailable("the status of a thread", log);
  return {
    session: ({ channel, thread }, status) =>
      session(() => client.agents.sessions.setStatus({ channel_id: channel, thread_ts: thread, status })),
    line: ({ channel, thread }, status) =>
      line(() => client.assistant.threads.setStatus({ channel_id: channel, thread_ts: thread, status })),
  };
}

/** Does it until Slack says that the app may not. */
function whereAvailable(what: string, log: BaseLogger): (work: () => Promise<unknown>) => Promise<void> {
  let available = true;
  return async (work) => {
    if (!available) return;
    try {
      await work();
    } catch (error) {
      const code = refusalCode(error) ?? "no answer";
      available = !final.has(code);
      log.debug(`Slack did not set ${what} (${code}).`);
    }
  };
}
