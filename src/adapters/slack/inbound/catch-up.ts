import type { WebClient } from "@slack/web-api";
import type { BaseLogger } from "pino";
import type { Downtime, OpenMessage } from "../../../chat/downtime.ts";
import type { InboundEvent } from "../../../chat/inbound.ts";
import { type ThreadId, threadId, type ThreadRef } from "../../../chat/threads.ts";
import type { EventReader } from "./events.ts";
import { ConversationHistory, type HistoryMessage } from "./conversation-history.ts";

export interface CatchUpOptions {
  /** A client that waits for rate limits: nobody waits for it. */
  client: WebClient;
  downtime: Downtime;
  teamId: string;
  reader: EventReader;
  receive(event: InboundEvent): Promise<unknown>;
  signal: AbortSignal;
  log: BaseLogger;
}

/** Everything that the phases of one catch-up share. */
interface CatchUpState {
  /** `ts` of the moment since which events may have been missed. */
  start: string;
  history: ConversationHistory;
  reader: EventReader;
  /** Hands an event in, unless there is none or the catch-up was aborted. */
  receive(event: InboundEvent | undefined): Promise<void>;
}

/**
 * Finds what was done while no gateway listened, and hands it in as if Slack had delivered it: messages in the order of
 * their time, then what happened to messages that are being worked on or wait: edits, deletions, a 🛑. Intake drops what
 * it knows. Only the conversations that the bot is in are read, and the threads that it worked in lately; a mention in
 * any other old thread is not found.
 *
 * The phases: list the threads, read channels, read threads, receive messages, changes and reactions. Rejects when Slack
 * cannot be reached; then the caller retries all of it.
 */
export async function readMissedEvents(options: CatchUpOptions): Promise<void> {
  const { downtime, teamId, reader, signal } = options;
  const since = await downtime.lastConnectedAt("slack", teamId);
  if (since === undefined) return;
  const history = new ConversationHistory(options);
  const state: CatchUpState = {
    start: (since / 1_000).toFixed(6),
    history,
    reader,
    async receive(event) {
      if (event && !signal.aborted) await options.receive(event);
    },
  };
  const open = (await downtime.open("slack", [teamId])).filter(({ ref }) => Number(ref.message) > 0);
  const threads = await listThreads(options, open);
  await readChannels(state, threads);
  const completeThreads = await readThreads(state, threads, open);
  const messages = history.inOrder();
  await receiveMessages(state, messages);
  await receiveChanges(state, open, completeThreads);
  await receiveReactions(state, messages);
}

/** The threads that may have missed something: those that people may write in without a mention, and busy ones. */
async function listThreads(
  { downtime, teamId }: CatchUpOptions,
  open: readonly OpenMessage[],
): Promise<Map<ThreadId, ThreadRef>> {
  const threads = new Map<ThreadId, ThreadRef>();
  for (const thread of await downtime.threads("slack", teamId)) threads.set(threadId(thread), thread);
  for (const { thread } of open) threads.set(threadId(thread), thread);
  return threads;
}

async function readChannels(
  { history, start }: CatchUpState,
  threads: ReadonlyMap<ThreadId, ThreadRef>,
): Promise<void> {
  const channels = new Set([...threads.values()].map(({ channel }) => channel));
  for (const id of await history.listConversations()) channels.add(id);
  for (const channel of channels) await history.readChannel(channel, start);
}

/** Reads each thread back to its oldest open message; gives the threads that were read completely. */
async function readThreads(
  { history, start }: CatchUpState,
  threads: ReadonlyMap<ThreadId, ThreadRef>,
  open: readonly OpenMessage[],
): Promise<Set<ThreadId>> {
  const complete = new Set<ThreadId>();
  for (const [id, { channel, thread }] of threads) {
    const times = open.filter((one) => threadId(one.thread) === id).map(({ ref }) => ref.message);
    const from = times.reduce((first, ts) => (Number(ts) < Number(first) ? ts : first), start);
    if (await history.readThread(channel, thread, from)) complete.add(id);
  }
  return complete;
}

async function receiveMessages(
  { start, reader, receive }: CatchUpState,
  messages: readonly HistoryMessage[],
): Promise<void> {
  for (const { edited: _, ...message } of messages) {
    // Earlier ones were read only to see what happened to them.
    if (Number(message.ts) < Number(start)) continue;
    await receive(await reader.message({ ...message, type: "message" }));
  }
}

/** Edits and deletions of the messages that wait or are being worked on. */
async function receiveChanges(
  state: CatchUpState,
  open: readonly OpenMessage[],
  completeThreads: ReadonlySet<ThreadId>,
): Promise<void> {
  for (const { thread, ref, written } of open) {
    if (!written) continue;
    const found = state.history.find(ref.channel, ref.message);
    const isDeleted = found ? found.subtype === "tombstone" : completeThreads.has(threadId(thread));
    if (isDeleted) await receiveDeletion(state, { thread, ref, written });
    else if (found) await receiveEdit(state, found, written);
  }
}

type WrittenMessage = Required<OpenMessage>;

async function receiveDeletion(
  { start, reader, receive }: CatchUpState,
  { thread, ref, written }: WrittenMessage,
): Promise<void> {
  const deletion = {
    type: "message",
    subtype: "message_deleted",
    channel: ref.channel,
    deleted_ts: ref.message,
    previous_message: { user: written.author.id, thread_ts: thread.thread },
    event_ts: later(ref.message, start),
  };
  await receive(await reader.message(deletion));
}

async function receiveEdit(
  { reader, receive }: CatchUpState,
  found: HistoryMessage,
  written: WrittenMessage["written"],
): Promise<void> {
  if (found.edited?.ts === undefined || found.user !== written.author.id) return;
  const change = {
    type: "message",
    subtype: "message_changed",
    channel: found.channel,
    message: found,
    previous_message: { user: written.author.id },
    event_ts: found.edited.ts,
  };
  const event = await reader.message(change);
  if (event?.kind === "edit" && event.text !== written.text) await receive(event);
}

async function receiveReactions(
  { start, reader, receive }: CatchUpState,
  messages: readonly HistoryMessage[],
): Promise<void> {
  for (const { channel, ts, reactions = [] } of messages) {
    for (const { name: reaction, users = [] } of reactions) {
      for (const user of users) {
        // An earlier one was delivered, so this one was added since.
        const added = { user, reaction, item: { type: "message", channel, ts }, event_ts: later(ts, start) };
        await receive(await reader.reaction(added));
      }
    }
  }
}

function later(ts: string, start: string): string {
  return Number(ts) > Number(start) ? ts : start;
}
