import type { WebClient } from "@slack/web-api";
import type { MessageRef, ThreadRef } from "../../../chat/threads.ts";

/** How far Slack's clock may be behind ours when we look for a message that we may have posted. */
const clockToleranceMs = 60_000;

/**
 * The parts of what we have posted with that key (`key#0`, `key#1` …), as far as they are in the thread without a
 * gap. Not finding one proves nothing.
 */
export async function findPosted(
  client: WebClient,
  thread: ThreadRef,
  key: string,
  since: number,
): Promise<string[]> {
  const [{ user_id: self }, { messages = [] }] = await Promise.all([
    client.auth.test(),
    client.conversations.replies({
      channel: thread.channel,
      ts: thread.thread,
      oldest: ((since - clockToleranceMs) / 1_000).toFixed(6),
      include_all_metadata: true,
      limit: 200,
    }),
  ]);
  // Every app can read the metadata of others, and write the same.
  const own = messages.filter(({ user }) => user === self);
  const byKey = new Map(own.map(({ ts, metadata }) => [read(metadata?.event_payload, "key"), ts]));
  const found: string[] = [];
  for (let ts = byKey.get(`${key}#0`); ts !== undefined; ts = byKey.get(`${key}#${found.length}`))
    found.push(ts);
  return found;
}

/** Which piece of an answer a message of ours holds, see `Part.path`; undefined where it does not say so. */
export async function findPart(
  client: WebClient,
  thread: ThreadRef,
  { message: ts }: MessageRef,
): Promise<string | undefined> {
  const { messages = [] } = await client.conversations.replies({
    channel: thread.channel,
    ts: thread.thread,
    oldest: ts,
    latest: ts,
    inclusive: true,
    include_all_metadata: true,
    limit: 2,
  });
  const found = messages.find((message) => message.ts === ts);
  const part = read(found?.metadata?.event_payload, "part");
  return typeof part === "string" ? part : undefined;
}

/** The SDK's type of a payload has no members. */
function read(payload: object | undefined, name: "key" | "part"): unknown {
  return payload && name in payload ? (payload as Partial<Record<typeof name, unknown>>)[name] : undefined;
}
