import type { WebClient } from "@slack/web-api";
import type { BaseLogger } from "pino";
import { type ThreadId, threadId, type ThreadRef } from "../../../chat/threads.ts";
import { refusalCode } from "../connection/web.ts";

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
  /** We have written a message there: a line that is under way would come after it and stay. */
  posted(thread: ThreadRef): Promise<void>;
}

/** A session that is processing is told so again after this time: another worker may have said something else. */
const sureMs = 50_000;

/** What says that the app may not do this here, now and later. */
const final = new Set(["not_authorized", "missing_scope", "unknown_method", "access_denied", "not_allowed"]);

export function createThreadStatus(client: WebClient, log: BaseLogger): ThreadStatus {
  const setSession = whereAvailable("the session of a thread", log);
  const setLine = whereAvailable("the status of a thread", log);
  const processing = new Map<ThreadId, number>();
  const underWay = new Map<ThreadId, Promise<void>>();
  const show = ({ channel, thread }: ThreadRef, status: string) =>
    setLine(() => client.assistant.threads.setStatus({ channel_id: channel, thread_ts: thread, status }));
  return {
    async session(thread, status) {
      const id = threadId(thread);
      if (status !== "processing") processing.delete(id);
      else if (Date.now() - (processing.get(id) ?? 0) < sureMs) return;
      else processing.set(id, Date.now());
      const place = { channel_id: thread.channel, thread_ts: thread.thread };
      await setSession(() => client.agents.sessions.setStatus({ ...place, status }));
    },
    async line(thread, text) {
      const id = threadId(thread);
      const setting = show(thread, text);
      underWay.set(id, setting);
      await setting;
      if (underWay.get(id) === setting) underWay.delete(id);
    },
    async posted(thread) {
      const setting = underWay.get(threadId(thread));
      if (!setting) return;
      await setting;
      await show(thread, "");
    },
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
