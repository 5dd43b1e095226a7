import type { WebClient } from "@slack/web-api";
import type { BaseLogger } from "pino";
import { cutText } from "../../../agent/text/text.ts";
import { type ThreadId, threadId, type ThreadRef } from "../../../chat/threads.ts";
import { refusalCode } from "../connection/web.ts";
import type { Feature, Features } from "./features.ts";

/**
 * Slack's own state of a thread. While it is `processing`, Slack shows its native Stop button, which arrives as
 * `agent_session_stopped` when pressed. It stays until we change it, or for an hour. `suspended`: people are to decide
 * something.
 * https://docs.slack.dev/ai/agent-sessions
 */
type SessionState = "processing" | "suspended" | "active";

/** Both are additions to what our messages show: a failure is logged and otherwise ignored. */
interface ThreadStatus {
  /** @param title counts only for a session that Slack does not know yet: a person's own name for it stays */
  setSession(thread: ThreadRef, state: SessionState, title?: string): Promise<void>;
  /** The line "Heddle is …" under the thread. Slack removes it after two minutes or with our next message. */
  setLine(thread: ThreadRef, text: string): Promise<void>;
  /** Whether Slack shows the thread as being worked on, with its own Stop button. */
  isProcessing(thread: ThreadRef): boolean;
  /** To be called after a message was posted: a line that is being set would appear after it and stay. */
  onPosted(thread: ThreadRef): Promise<void>;
}

/** A session that is processing is set to that again after this time: another worker may have set something else. */
const refreshMs = 50_000;

/** https://docs.slack.dev/reference/methods/agents.sessions.setStatus */
const titleChars = 200;

/** The app may not do this here. */
const final = new Set(["not_authorized", "missing_scope", "unknown_method", "access_denied", "not_allowed"]);

export function createThreadStatus(client: WebClient, features: Features, log: BaseLogger): ThreadStatus {
  const call = async (feature: Feature, work: () => Promise<unknown>): Promise<void> => {
    if (!features.has(feature)) return;
    try {
      await work();
    } catch (error) {
      const code = refusalCode(error) ?? "no answer";
      if (final.has(code)) features.onRefused(feature);
      log.debug(`Slack did not set the ${feature} of a thread (${code}).`);
    }
  };
  const processing = new Map<ThreadId, number>();
  const pending = new Map<ThreadId, Promise<void>>();
  const show = ({ channel, thread }: ThreadRef, status: string) => {
    const place = { channel_id: channel, thread_ts: thread };
    const loading = status === "" ? {} : { loading_messages: [toSentence(status), ...stillWorking] };
    return call("status", () => client.assistant.threads.setStatus({ ...place, status, ...loading }));
  };
  return {
    async setSession(thread, status, title = "") {
      const id = threadId(thread);
      if (status !== "processing") processing.delete(id);
      else if (Date.now() - (processing.get(id) ?? 0) < refreshMs) return;
      else processing.set(id, Date.now());
      const place = { channel_id: thread.channel, thread_ts: thread.thread };
      const named = title === "" ? {} : { title: cutText(title, titleChars) };
      await call("session", () => client.agents.sessions.setStatus({ ...place, status, ...named }));
    },
    isProcessing: (thread) => features.has("session") && processing.has(threadId(thread)),
    async setLine(thread, text) {
      const id = threadId(thread);
      const setting = show(thread, text);
      pending.set(id, setting);
      await setting;
      if (pending.get(id) === setting) pending.delete(id);
    },
    async onPosted(thread) {
      const setting = pending.get(threadId(thread));
      if (!setting) return;
      await setting;
      // Another one is being set, after the message.
      if (!pending.has(threadId(thread))) await show(thread, "");
    },
  };
}

const stillWorking = ["Working on it…", "Still at it…"];

/** "is using bash…" as a line of its own: "Using bash…". */
function toSentence(status: string): string {
  const words = status.replace(/^is /, "");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
