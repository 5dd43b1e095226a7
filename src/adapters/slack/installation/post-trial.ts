import { pino } from "pino";
import type { Finding } from "../../../chat/adapter.ts";
import { SurfaceError } from "../../../chat/surface.ts";
import { createWebClient } from "../connection/web.ts";
import { callSlack } from "../surface/call.ts";
import type { TrialOptions } from "./try-tokens.ts";

/** Sends one message to a channel, for an operator who wants to see that it arrives. */
export async function postTrial(
  botToken: string,
  { channel, text }: { channel: string; text: string },
  { apiUrl, timeoutMs }: TrialOptions,
): Promise<Finding> {
  const server = { ...(apiUrl !== undefined && { apiUrl }), log: pino({ level: "silent" }) };
  const client = createWebClient({ ...server, botToken }, { timeoutMs });
  const started = performance.now();
  try {
    const posted = await callSlack("chat.postMessage", () =>
      client.apiCall("chat.postMessage", { channel, text }),
    );
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    return {
      level: "ok",
      text: `Slack took a message to ${channel} in ${seconds} s (${String(posted && "ts" in posted ? posted.ts : "")})`,
    };
  } catch (error) {
    const isUnknown = error instanceof SurfaceError && error.kind === "gone";
    const why = isUnknown
      ? "the bot sees none with that id. Copy the id from the channel's details, and invite the bot to it."
      : error instanceof Error
        ? error.message
        : String(error);
    return { level: "error", text: `No message reached the channel ${channel} of Slack: ${why}` };
  }
}
