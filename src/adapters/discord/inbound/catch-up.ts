import { type REST, Routes } from "discord.js";
import type { BaseLogger } from "pino";
import { z } from "zod";
import type { OpenMessage } from "../../../chat/downtime.ts";
import type { InboundEvent } from "../../../chat/inbound.ts";
import { compareByTime, directWorkspace, locateMessage, readTime, toSnowflake } from "../connection/ids.ts";
import type { People } from "../connection/people.ts";
import { refusalCode } from "../connection/rest.ts";
import type { EventReader } from "./events.ts";

/** A busy channel is not read back for ever. */
const mostPages = 10;
const pageSize = 100;
/** Discord's code for a message that there is not, or no more. */
const unknownMessage = 10_008;

const channelSchema = z.object({ id: z.string(), last_message_id: z.string().nullish() });
const messageSchema = z.looseObject({
  id: z.string(),
  channel_id: z.string(),
  author: z.looseObject({ id: z.string() }),
  reactions: z
    .array(z.object({ emoji: z.object({ id: z.string().nullish(), name: z.string().nullish() }) }))
    .default([]),
});

type Found = z.infer<typeof messageSchema>;

/** Where to look. */
export interface CatchUpDeps {
  /** A client that sits out rate limits: nobody waits for it. */
  rest: REST;
  /** Servers whose channels are looked through. */
  guilds: readonly string[];
  /** Direct conversations, which Discord does not list. */
  directs: readonly string[];
  /** Messages there that are worked on, or wait. */
  open: readonly OpenMessage[];
  reader: EventReader;
  people: People;
  signal: AbortSignal;
  log: BaseLogger;
}

/**
 * Finds what was done since that time, and hands it in as if Discord had told it: messages in their order, and what
 * became of those that are worked on or wait: edits, deletions, a 🛑. What is known is dropped by whoever receives it.
 * Archived threads are not looked through: writing opens a thread.
 */
export async function readMissedEvents(
  { rest, guilds, directs, open, reader, people, signal, log }: CatchUpDeps,
  since: number,
  hand: (event: InboundEvent) => Promise<unknown>,
): Promise<void> {
  const start = toSnowflake(since);
  const missed: Found[] = [];
  const receive = async (event: InboundEvent | undefined) => {
    if (event && !signal.aborted) await hand(event);
  };
  const tolerant = async (what: string, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      const code = refusalCode(error);
      // Discord was not reached: all of it is tried again later.
      if (code === undefined) throw error;
      log.debug(`${what} could not be read for messages that were missed (${code}).`);
    }
  };
  const read = async (channel: string, guild?: string) => {
    let after = start;
    for (let pages = 0; pages < mostPages && !signal.aborted; pages += 1) {
      const query = new URLSearchParams({ after, limit: String(pageSize) });
      const page = z.array(messageSchema).parse(await rest.get(Routes.channelMessages(channel), { query }));
      for (const message of page) {
        missed.push({ ...message, ...(guild !== undefined && { guild_id: guild }) });
        if (compareByTime(message.id, after) > 0) after = message.id;
      }
      if (page.length < pageSize) return;
    }
  };
  const readIfNew = async (channels: unknown, guild: string) => {
    for (const { id, last_message_id: last } of z.array(channelSchema).parse(channels)) {
      if (last && compareByTime(last, start) >= 0) await tolerant(`Channel ${id}`, () => read(id, guild));
    }
  };
  for (const guild of guilds) {
    await tolerant(`Server ${guild}`, async () => {
      await readIfNew(await rest.get(Routes.guildChannels(guild)), guild);
      const active = z
        .object({ threads: z.unknown() })
        .parse(await rest.get(Routes.guildActiveThreads(guild)));
      await readIfNew(active.threads, guild);
    });
  }
  for (const channel of directs) await tolerant(`Direct conversation ${channel}`, () => read(channel));
  const inOrder = missed.toSorted((a, b) => compareByTime(a.id, b.id));
  for (const message of inOrder) await receive(await reader.created(message));

  const stopsOn = async ({ id, channel_id, guild_id, reactions }: Found) => {
    for (const { emoji } of reactions.filter((one) => reader.isStop(one.emoji.name ?? ""))) {
      const name = encodeURIComponent(emoji.id ? `${emoji.name}:${emoji.id}` : (emoji.name ?? ""));
      const users = await rest.get(Routes.channelMessageReaction(channel_id, id, name));
      for (const { id: user_id } of z.array(z.object({ id: z.string() })).parse(users)) {
        // An earlier one was heard of, so it was put there since.
        await receive(await reader.reacted({ user_id, channel_id, message_id: id, guild_id, emoji }, since));
      }
    }
  };
  for (const { thread, ref, written } of open) {
    const { where, message } = locateMessage(ref);
    await tolerant(`Message ${message}`, async () => {
      const now = await rest.get(Routes.channelMessage(where, message)).catch((error: unknown) => {
        if (refusalCode(error) === unknownMessage) return undefined;
        throw error;
      });
      if (now === undefined) {
        if (!written) return;
        const author = await people(written.author.id, ref.workspace);
        return receive({ kind: "delete", thread, ref, author, at: Math.max(since, readTime(message)) });
      }
      const guild = ref.workspace === directWorkspace ? {} : { guild_id: ref.workspace };
      const found = { ...messageSchema.parse(now), ...guild };
      if (found.author.id === written?.author.id) {
        await receive(await reader.updated(found, written.text));
        await reader.learn(found, thread);
      }
      await stopsOn(found);
    });
  }
  for (const message of inOrder) await tolerant(`Message ${message.id}`, () => stopsOn(message));
}
