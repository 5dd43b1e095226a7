import { Routes } from "discord.js";
import { z } from "zod";
import type { Finding } from "../../../chat/adapter.ts";
import { createRest } from "../connection/rest.ts";
import { createCall } from "../surface/call.ts";
import type { TrialAccess } from "./set-up.ts";

const channelSchema = z.object({ guild_id: z.string().default("") });
const messageSchema = z.object({ id: z.string() });

/** Sends one message to a channel, for an operator who wants to see that it arrives. */
export async function postTrial(
  { timeoutMs, ...access }: TrialAccess,
  { channel, text }: { channel: string; text: string },
): Promise<Finding> {
  const rest = createRest(access, { timeoutMs });
  const call = createCall(rest);
  const started = performance.now();
  try {
    const place = { workspace: "", channel };
    const found = await call("the channel", place, () => rest.get(Routes.channel(channel)));
    const workspace = channelSchema.parse(found).guild_id;
    const body = { content: text, allowed_mentions: { parse: [] } };
    const posted = await call("posting", { workspace, channel }, () =>
      rest.post(Routes.channelMessages(channel), { body }),
    );
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    const { id } = messageSchema.parse(posted);
    return { level: "ok", text: `Discord took a message to ${channel} in ${seconds} s (${id})` };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { level: "error", text: `No message reached the channel ${channel} of Discord: ${why}` };
  }
}
