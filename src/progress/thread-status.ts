import type { ChatSurface, ThreadRef } from "../adapters/adapter.ts";

/** Platforms limit how often it may change. */
const paceMs = 3_000;
/** Slack takes a status away after two minutes. https://docs.slack.dev/ai/agent-sessions */
const refreshMs = 60_000;

/** The line that says what the agent does at this moment, on platforms that have one. */
export interface ThreadStatus {
  /** The text goes after the name of the bot: "is thinking…". */
  show(text: string): void;
  /** Takes it away, in the background. @param waits see `ChatSurface.status` */
  end(waits: boolean): void;
}

/** Nothing depends on the line: its failures are not told. */
export function createThreadStatus(surface: ChatSurface, thread: ThreadRef): ThreadStatus {
  if (!surface.status) return { show: () => undefined, end: () => undefined };
  let latest: string | undefined;
  let shown: { text: string; at: number } | undefined;
  let sending = Promise.resolve();
  const send = (text: string | undefined, waits = false) => {
    shown = text === undefined ? undefined : { text, at: Date.now() };
    sending = sending.then(() => surface.status?.(thread, text, waits)).catch(() => undefined);
  };
  const tick = () => {
    if (latest === undefined) return;
    if (shown?.text !== latest || Date.now() - shown.at >= refreshMs) send(latest);
  };
  const timer = setInterval(tick, paceMs).unref();
  return {
    show(text) {
      const isFirst = latest === undefined;
      latest = text;
      if (isFirst) tick();
    },
    end(waits) {
      clearInterval(timer);
      latest = undefined;
      if (shown) send(undefined, waits);
    },
  };
}
