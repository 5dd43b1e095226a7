import { type REST, Routes } from "discord.js";
import type { BaseLogger } from "pino";
import { z } from "zod";
import { byTime, snowflakeAt } from "./places.ts";
import { refusalCode } from "./rest.ts";

/** A busy channel is not read back for ever. */
const mostPages = 10;
const pageSize = 100;

const channelSchema = z.object({ id: z.string(), last_message_id: z.string().nullish() });
const messageSchema = z.looseObject({ id: z.string() });

/** Where to look. */
export interface Ground {
  /** A client that sits out rate limits: nobody waits for it. */
  rest: REST;
  /** Servers whose channels are looked through. */
  guilds: readonly string[];
  /** Direct conversations, which Discord does not list. */
  directs: readonly string[];
  signal: AbortSignal;
  log: BaseLogger;
}

/**
 * Hands in the messages since that time, in their order, in the shape of an event. Those that are known are dropped
 * by whoever receives them. Archived threads are not looked through: writing opens a thread.
 */
export async function catchUp(
  { rest, guilds, directs, signal, log }: Ground,
  since: number,
  receive: (message: Record<string, unknown>) => Promise<void>,
): Promise<void> {
  const start = snowflakeAt(since);
  const missed: { id: string; message: Record<string, unknown> }[] = [];
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
        missed.push({
          id: message.id,
          message: { ...message, ...(guild !== undefined && { guild_id: guild }) },
        });
        if (byTime(message.id, after) > 0) after = message.id;
      }
      if (page.length < pageSize) return;
    }
  };
  const readIfNew = async (channels: unknown, guild: string) => {
    for (const { id, last_message_id: last } of z.array(channelSchema).parse(channels)) {
      if (last && byTime(last, start) >= 0) await tolerant(`Channel ${id}`, () => read(id, guild));
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
  for (const { message } of missed.toSorted((a, b) => byTime(a.id, b.id))) {
    if (!signal.aborted) await receive(message);
  }
}
