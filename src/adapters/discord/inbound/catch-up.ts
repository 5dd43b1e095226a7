import { type REST, Routes } from "discord.js";
import type { BaseLogger } from "pino";
import { z } from "zod";
import type { OpenMessage } from "../../../chat/downtime.ts";
import type { InboundEvent } from "../../../chat/inbound.ts";
import { compareByTime, directWorkspace, locateMessage, readTime, toSnowflake } from "../connection/ids.ts";
import type { People } from "../connection/people.ts";
import { refusalCode } from "../connection/rest.ts";
import type { EventReader } from "./events.ts";
import { explainGone, stopGoneThread } from "./removed-places.ts";

/** Bounds what is read of a busy channel. */
const maxPages = 10;
const pageSize = 100;
/** Discord's code for a message that does not exist, or no longer does. */
const unknownMessage = 10_008;

const channelSchema = z.object({ id: z.string(), last_message_id: z.string().nullish() });
const activeThreadsSchema = z.object({ threads: z.unknown() });
const messageSchema = z.looseObject({
  id: z.string(),
  channel_id: z.string(),
  author: z.looseObject({ id: z.string() }),
  reactions: z
    .array(z.object({ emoji: z.object({ id: z.string().nullish(), name: z.string().nullish() }) }))
    .default([]),
});

type HistoryMessage = z.infer<typeof messageSchema>;

/** Where to look. */
export interface CatchUpDeps {
  /** A client that waits for rate limits: nobody waits for it. */
  rest: REST;
  /** Servers whose channels are read. */
  guilds: readonly string[];
  /** Direct conversations, which Discord does not list. */
  directs: readonly string[];
  /** Messages there that are being worked on, or wait. */
  open: readonly OpenMessage[];
  reader: EventReader;
  people: People;
  signal: AbortSignal;
  log: BaseLogger;
}

/** Everything that the phases of one catch-up share. */
interface CatchUpState extends CatchUpDeps {
  /** Since when events may have been missed, ms. */
  since: number;
  /** The first id that is not older than that. */
  start: string;
  /** Hands an event in, unless there is none or the catch-up was aborted. */
  receive(event: InboundEvent | undefined): Promise<void>;
}

/**
 * Finds what was done since that time, and hands it in as if Discord had dispatched it: messages in order, then what
 * happened to messages that are being worked on or wait: edits, deletions, a 🛑. Intake drops what it knows. Archived
 * threads are not read: writing in one reopens it.
 *
 * The phases: read threads with work under way, then all other channels and threads; of each receive messages, changes
 * of open ones, and stops. Rejects when Discord cannot be reached; then the caller retries all of it.
 *
 * @returns what does the second phase
 */
export async function readMissedEvents(
  deps: CatchUpDeps,
  since: number,
  receive: (event: InboundEvent) => Promise<unknown>,
): Promise<() => Promise<void>> {
  const state = createState(deps, since, receive);
  const busy = await readBusyThreads(state);
  await receiveMessages(state, busy);
  for (const message of deps.open) await receiveChanges(state, message);
  await receiveReactions(state, busy);
  return async () => {
    const known = new Set(busy.map(({ id }) => id));
    const others = (await readMessages(state)).filter(({ id }) => !known.has(id));
    await receiveMessages(state, others);
    await receiveReactions(state, others);
  };
}

function createState(
  deps: CatchUpDeps,
  since: number,
  receive: (event: InboundEvent) => Promise<unknown>,
): CatchUpState {
  return {
    ...deps,
    since,
    start: toSnowflake(since),
    async receive(event) {
      if (event && !deps.signal.aborted) await receive(event);
    },
  };
}

async function receiveMessages(
  { reader, receive }: CatchUpState,
  messages: readonly HistoryMessage[],
): Promise<void> {
  for (const message of messages) await receive(await reader.readCreated(message));
}

async function receiveReactions(state: CatchUpState, messages: readonly HistoryMessage[]): Promise<void> {
  for (const message of messages)
    await unlessRefused(state, `Message ${message.id}`, () => receiveStops(state, message));
}

/** What was written since the start in threads with work under way, in the order of time. */
async function readBusyThreads(state: CatchUpState): Promise<HistoryMessage[]> {
  const messages: HistoryMessage[] = [];
  const threads = new Map(state.open.map(({ thread }) => [thread.thread, thread]));
  for (const { thread, workspace } of threads.values()) {
    const guild = workspace === directWorkspace ? undefined : workspace;
    await unlessRefused(state, `Thread ${thread}`, () => readChannel(state, messages, thread, guild));
  }
  return messages.toSorted((a, b) => compareByTime(a.id, b.id));
}

/** What was written since the start in all channels, in the order of time. */
async function readMessages(state: CatchUpState): Promise<HistoryMessage[]> {
  const { rest, guilds, directs } = state;
  const messages: HistoryMessage[] = [];
  const readActive = async (channels: unknown, guild: string) => {
    for (const { id, last_message_id: last } of z.array(channelSchema).parse(channels)) {
      if (!last || compareByTime(last, state.start) < 0) continue;
      await unlessRefused(state, `Channel ${id}`, () => readChannel(state, messages, id, guild));
    }
  };
  for (const guild of guilds) {
    await unlessRefused(state, `Server ${guild}`, async () => {
      await readActive(await rest.get(Routes.guildChannels(guild)), guild);
      const active = activeThreadsSchema.parse(await rest.get(Routes.guildActiveThreads(guild)));
      await readActive(active.threads, guild);
    });
  }
  for (const channel of directs) {
    await unlessRefused(state, `Direct conversation ${channel}`, () => readChannel(state, messages, channel));
  }
  return messages.toSorted((a, b) => compareByTime(a.id, b.id));
}

/** Adds what was read to `messages` page by page, so that a refusal in the middle loses nothing. */
async function readChannel(
  { rest, start, signal }: CatchUpState,
  messages: HistoryMessage[],
  channel: string,
  guild?: string,
): Promise<void> {
  let after = start;
  for (let pages = 0; pages < maxPages && !signal.aborted; pages += 1) {
    const query = new URLSearchParams({ after, limit: String(pageSize) });
    const page = z.array(messageSchema).parse(await rest.get(Routes.channelMessages(channel), { query }));
    for (const message of page) {
      messages.push({ ...message, ...(guild !== undefined && { guild_id: guild }) });
      if (compareByTime(message.id, after) > 0) after = message.id;
    }
    if (page.length < pageSize) return;
  }
}

/** What happened to a message that waits or is being worked on: a deletion, an edit, a 🛑. */
async function receiveChanges(state: CatchUpState, open: OpenMessage): Promise<void> {
  const { rest, people, reader, receive, since } = state;
  const { thread, ref, written } = open;
  const { where, message: id } = locateMessage(ref);
  await unlessRefused(state, `Message ${id}`, async () => {
    const current = await rest.get(Routes.channelMessage(where, id)).catch(async (error: unknown) => {
      if (refusalCode(error) === unknownMessage) return undefined;
      const why = explainGone(error);
      if (why !== undefined) await receive(stopGoneThread(thread, why));
      throw error;
    });
    if (current === undefined) {
      if (!written) return;
      const author = await people(written.author.id, ref.workspace);
      return receive({ kind: "delete", thread, ref, author, at: Math.max(since, readTime(id)) });
    }
    const guild = ref.workspace === directWorkspace ? {} : { guild_id: ref.workspace };
    const message = { ...messageSchema.parse(current), ...guild };
    if (message.author.id === written?.author.id) {
      await receive(await reader.readUpdated(message, written.text));
      await reader.learn(message, thread);
    }
    await receiveStops(state, message);
  });
}

async function receiveStops(
  { rest, reader, receive, since }: CatchUpState,
  { id, channel_id, guild_id, reactions }: HistoryMessage,
): Promise<void> {
  for (const { emoji } of reactions.filter((one) => reader.isStop(one.emoji.name ?? ""))) {
    const name = encodeURIComponent(emoji.id ? `${emoji.name}:${emoji.id}` : (emoji.name ?? ""));
    const users = await rest.get(Routes.channelMessageReaction(channel_id, id, name));
    for (const { id: user_id } of z.array(z.object({ id: z.string() })).parse(users)) {
      // An earlier one was dispatched, so this one was added since.
      const reaction = { user_id, channel_id, message_id: id, guild_id, emoji };
      await receive(await reader.readReaction(reaction, since));
    }
  }
}

/** Leaves out what Discord refuses. Rejects when Discord was not reached: then all of it is retried later. */
async function unlessRefused({ log }: CatchUpState, what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const code = refusalCode(error);
    if (code === undefined) throw error;
    log.debug(`${what} could not be read for missed messages (${code}).`);
  }
}
