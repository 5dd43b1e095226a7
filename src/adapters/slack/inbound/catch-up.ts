import type { WebClient } from "@slack/web-api";
import type { BaseLogger } from "pino";
import type { Downtime, OpenMessage } from "../../../chat/downtime.ts";
import type { InboundEvent } from "../../../chat/inbound.ts";
import { type ThreadId, threadId, type ThreadRef } from "../../../chat/threads.ts";
import { ConversationHistory, type HistoryMessage } from "./conversation-history.ts";
import type { EventReader } from "./events.ts";

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
  /** Channel and `ts` of the messages that were handed in, with all that happened to them. */
  received: Set<string>;
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
 * The phases: read threads with work under way, then all other channels and threads; of each receive messages, changes
 * and reactions. Rejects when Slack cannot be reached; then the caller retries all of it.
 *
 * @returns what does the second phase
 */
export async function readMissedEvents(options: CatchUpOptions): Promise<() => Promise<void>> {
  const { downtime, teamId } = options;
  const since = await downtime.lastConnectedAt("slack", teamId);
  if (since === undefined) return async () => undefined;
  const state = createState(options, since);
  const open = (await downtime.open("slack", [teamId])).filter(({ ref }) => Number(ref.message) > 0);
  const busy = new Map(open.map(({ thread }) => [threadId(thread), thread]));
  await receiveFrom(state, busy, open);
  return async () => {
    const threads = await listThreads(options);
    await readChannels(state, [...busy.values(), ...threads.values()]);
    for (const id of busy.keys()) threads.delete(id);
    await receiveFrom(state, threads, []);
  };
}

function createState(options: CatchUpOptions, since: number): CatchUpState {
  const { reader, signal } = options;
  return {
    start: (since / 1_000).toFixed(6),
    history: new ConversationHistory(options),
    received: new Set(),
    reader,
    async receive(event) {
      if (event && !signal.aborted) await options.receive(event);
    },
  };
}

/** Reads the threads, and hands in what they have missed and what was read before: each message once. */
async function receiveFrom(
  state: CatchUpState,
  threads: ReadonlyMap<ThreadId, ThreadRef>,
  open: readonly OpenMessage[],
): Promise<void> {
  const completeThreads = await readThreads(state, threads, open);
  const messages = state.history.inOrder().filter(({ channel, ts }) => {
    const isNew = !state.received.has(`${channel}:${ts}`);
    state.received.add(`${channel}:${ts}`);
    return isNew;
  });
  await receiveMessages(state, messages);
  await receiveChanges(state, open, completeThreads);
  await receiveReactions(state, messages);
}

/** The threads that people may have written in without a mention. */
async function listThreads({ downtime, teamId }: CatchUpOptions): Promise<Map<ThreadId, ThreadRef>> {
  return new Map((await downtime.threads("slack", teamId)).map((thread) => [threadId(thread), thread]));
}

async function readChannels({ history, start }: CatchUpState, threads: readonly ThreadRef[]): Promise<void> {
  const channels = new Set(threads.map(({ channel }) => channel));
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
    event_ts: pickLater(ref.message, start),
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
        const added = {
          user,
          reaction,
          item: { type: "message", channel, ts },
          event_ts: pickLater(ts, start),
        };
        await receive(await reader.reaction(added));
      }
    }
  }
}

function pickLater(ts: string, start: string): string {
  return Number(ts) > Number(start) ? ts : start;
}
