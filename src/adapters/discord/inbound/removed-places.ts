import { type REST, Routes } from "discord.js";
import type { BaseLogger } from "pino";
import { z } from "zod";
import type { Downtime } from "../../../chat/downtime.ts";
import type { Author, InboundStop } from "../../../chat/inbound.ts";
import type { ThreadRef } from "../../../chat/threads.ts";
import { refusalCode } from "../connection/rest.ts";

/** Where a turn works that nobody can see any more, so that nobody could stop it. */
const gone = new Map([
  [10_003, "the channel or thread was deleted"],
  [10_004, "the bot is no longer in the server"],
  [50_001, "the bot may no longer see the channel"],
]);

/** Why Discord's refusal means that nobody sees the place through the bot; undefined where it does not. */
export function explainGone(error: unknown): string | undefined {
  return gone.get(refusalCode(error) ?? 0);
}

/** The order to stop whatever works in a thread that is gone. Nobody gave it, and it needs nobody's permission. */
export function stopGoneThread(thread: ThreadRef, why: string, now = Date.now()): InboundStop {
  const author: Author = { id: "discord", name: `Discord, where ${why}`, standing: "operator", roles: [] };
  return { kind: "stop", target: { thread }, author, tellsRefusal: true, at: now, isHostTime: true };
}

const threadSchema = z.object({ id: z.string(), guild_id: z.string(), parent_id: z.string() });
const channelSchema = z.object({ id: z.string(), guild_id: z.string() });
const guildSchema = z.object({ id: z.string(), unavailable: z.boolean().optional() });

/** Reads what Discord dispatches about places that are gone, as orders to stop what works there. */
export class RemovedPlaces {
  readonly #options: { rest: REST; downtime: Pick<Downtime, "open">; log: BaseLogger };

  constructor(options: { rest: REST; downtime: Pick<Downtime, "open">; log: BaseLogger }) {
    this.#options = options;
  }

  /** https://docs.discord.com/developers/events/gateway-events#thread-delete */
  async readDeletedThread(event: unknown): Promise<InboundStop[]> {
    const { data } = threadSchema.safeParse(event);
    if (!data) return [];
    const { id, guild_id, parent_id } = data;
    const thread = { platform: "discord", workspace: guild_id, channel: parent_id, thread: id };
    return this.#stop([thread], "the thread was deleted");
  }

  /** Discord tells of a deleted channel, and not of the threads in it. */
  async readDeletedChannel(event: unknown): Promise<InboundStop[]> {
    const { data } = channelSchema.safeParse(event);
    if (!data) return [];
    return this.#stop(await this.#findOpen(data.guild_id, data.id), "the channel was deleted");
  }

  /** The bot was removed, unless the server is only out of reach. https://docs.discord.com/developers/events/gateway-events#guild-delete */
  async readDeletedGuild(event: unknown): Promise<InboundStop[]> {
    const { data } = guildSchema.safeParse(event);
    if (!data || data.unavailable) return [];
    return this.#stop(await this.#findOpen(data.id), "the bot was removed from the server");
  }

  /** Where something is being done in a channel that has changed, Discord is asked whether the bot still sees it. */
  async readChangedChannel(event: unknown): Promise<InboundStop[]> {
    const { data } = channelSchema.safeParse(event);
    const open = data ? await this.#findOpen(data.guild_id, data.id) : [];
    if (!data || open.length === 0) return [];
    try {
      await this.#options.rest.get(Routes.channel(data.id));
      return [];
    } catch (error) {
      const why = explainGone(error);
      if (why === undefined) throw error;
      return this.#stop(open, why);
    }
  }

  async #findOpen(guild: string, channel?: string): Promise<ThreadRef[]> {
    const open = await this.#options.downtime.open("discord", [guild]);
    const threads = new Map(open.map(({ thread }) => [thread.thread, thread]));
    return [...threads.values()].filter((one) => channel === undefined || one.channel === channel);
  }

  #stop(threads: readonly ThreadRef[], why: string): InboundStop[] {
    return threads.map((thread) => {
      this.#options.log.info(`In thread ${thread.thread} of Discord whatever works is stopped: ${why}.`);
      return stopGoneThread(thread, why);
    });
  }
}
