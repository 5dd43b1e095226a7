import type { WebClient } from "@slack/web-api";
import type { MessageRef, ThreadRef } from "../../../chat/threads.ts";

/** How far Slack's clock may be behind ours when we look for a message that we may have posted. */
const clockToleranceMs = 60_000;

/**
 * The parts of what we have posted with that key (`key#0`, `key#1` …), as far as they are in the thread without a
 * gap; of what was posted twice the first, so that whoever looks finds the same. Not finding one proves nothing.
 */
export async function findPosted(
  client: WebClient,
  thread: ThreadRef,
  key: string,
  since: number,
): Promise<string[]> {
  const own = await readOwn(client, thread, since);
  const byKey = new Map(
    own.toReversed().map(({ ts, metadata }) => [read(metadata?.event_payload, "key"), ts]),
  );
  const found: string[] = [];
  for (let ts = byKey.get(`${key}#0`); ts !== undefined; ts = byKey.get(`${key}#${found.length}`))
    found.push(ts);
  return found;
}

/** The message of ours in the channel, outside of threads, that was posted with that key and so begins a thread. */
export async function findOpened(
  client: WebClient,
  channel: string,
  key: string,
  since: number,
): Promise<string | undefined> {
  const [{ user_id: self }, { messages = [] }] = await Promise.all([
    client.auth.test(),
    client.conversations.history({
      channel,
      oldest: ((since - clockToleranceMs) / 1_000).toFixed(6),
      include_all_metadata: true,
      limit: 200,
    }),
  ]);
  const own = messages.filter(({ user }) => user === self);
  return own.find(({ metadata }) => read(metadata?.event_payload, "key") === `${key}#0`)?.ts;
}

/** What we have posted in the thread. */
async function readOwn(client: WebClient, thread: ThreadRef, since: number) {
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
  return messages.filter(({ user }) => user === self);
}

/**
 * Messages of ours without a key: a message that grows gets none before it ends, so that of a worker which died in
 * between is among these.
 */
export async function findUnkeyed(client: WebClient, thread: ThreadRef, since: number): Promise<string[]> {
  const messages = await readOwn(client, thread, since);
  return messages.flatMap(({ ts, metadata, files }) =>
    ts !== undefined && !metadata?.event_payload && !files?.length ? [ts] : [],
  );
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
