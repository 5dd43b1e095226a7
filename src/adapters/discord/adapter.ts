import { GatewayDispatchEvents, type REST } from "discord.js";
import { z } from "zod";
import type { ChatAdapter } from "../../chat/adapter.ts";
import type { Downtime } from "../../chat/downtime.ts";
import type { Author, InboundEvent, Intake } from "../../chat/inbound.ts";
import { type CatchUp, catchUpOnReconnect } from "../../chat/missed-events.ts";
import type { ThreadRef } from "../../chat/threads.ts";
import { createChannels } from "./connection/channels.ts";
import { createGateway, type GatewayOptions } from "./connection/gateway.ts";
import { directWorkspace } from "./connection/ids.ts";
import { createPeople } from "./connection/people.ts";
import { createRest } from "./connection/rest.ts";
import { readMissedEvents } from "./inbound/catch-up.ts";
import { createEventReader } from "./inbound/events.ts";
import { createKeyedQueue } from "./inbound/keyed-queue.ts";
import { identify, tokenError } from "./installation/check.ts";
import { registerCommands } from "./interactions/commands.ts";
import { createInteractions } from "./interactions/interactions.ts";
import type { Choices } from "./interactions/options.ts";

export interface DiscordAdapterOptions extends GatewayOptions {
  /** Emoji that stop a turn; of custom ones the name. */
  stopReactions: readonly string[];
  downtime: Downtime;
  /** Whether that person's tasks are taken: the bot shows no others in its own name. */
  mayAsk(workspace: string, author: Author): boolean;
  /** What `/agent` suggests there to that person; nothing to those whose tasks are not taken. */
  choices(place: ThreadRef, author: Author): Promise<Choices>;
}

/** Brings events in from Discord's gateway. Writes go through a surface, which is made apart. */
export function createDiscordAdapter(options: DiscordAdapterOptions): ChatAdapter {
  let connection: { close(): Promise<void> } | undefined;
  return {
    platform: "discord",
    async start(intake) {
      connection = await open(options, intake);
    },
    async stop() {
      await connection?.close();
      connection = undefined;
    },
  };
}

const guildSchema = z.object({
  id: z.string(),
  channels: z.array(z.unknown()).default([]),
  threads: z.array(z.unknown()).default([]),
});
const placedSchema = z.object({ channel_id: z.string() });

async function open(options: DiscordAdapterOptions, intake: Intake): Promise<{ close(): Promise<void> }> {
  const { log, downtime } = options;
  const rest = createRest(options, { timeoutMs: 10_000 });
  const { identity, description, warnings } = await identify(rest, options);
  log.info(`Discord: ${description}.`);
  for (const warning of warnings) log.warn(warning);
  await register(rest, identity.applicationId, options);

  const channels = createChannels(rest);
  const people = createPeople(rest);
  const reader = createEventReader({ ...options, identity, channels, people });
  const receive = (event: InboundEvent) => intake.receive(event);
  const interact = createInteractions({ ...options, rest, identity, channels, people, receive });
  // What happens in one channel is handed in one after the other.
  const lines = createKeyedQueue();
  const shards = new Map<number, CatchUp>();
  const closing = new AbortController();
  const patient = createRest(options, { timeoutMs: 20_000, patient: true });

  // Whatever people should read about the result, intake has posted.
  const hand =
    (read: (data: unknown) => Promise<InboundEvent | undefined | InboundEvent[]>) =>
    (data: unknown, shard: number) =>
      lines.add(placedSchema.safeParse(data).data?.channel_id ?? "", async () => {
        try {
          for (const event of [await read(data)].flat()) if (event) await receive(event);
        } catch (error) {
          log.error({ err: error }, "A Discord event could not be kept; it is looked for again.");
          shards.get(shard)?.missed();
        }
      });

  const gateway = createGateway(options, {
    dispatch: {
      [GatewayDispatchEvents.MessageCreate]: hand(reader.created),
      [GatewayDispatchEvents.MessageUpdate]: hand(reader.updated),
      [GatewayDispatchEvents.MessageDelete]: hand(reader.deleted),
      [GatewayDispatchEvents.MessageDeleteBulk]: hand(reader.deleted),
      [GatewayDispatchEvents.MessageReactionAdd]: hand(reader.reacted),
      [GatewayDispatchEvents.InteractionCreate]: (data) =>
        lines.add(undefined, async () => {
          await interact(data).catch((error: unknown) =>
            log.error({ err: error }, "A command or button of Discord could not be handled."),
          );
        }),
      [GatewayDispatchEvents.GuildCreate]: (data) => {
        reader.learnRole(data);
        const { data: guild } = guildSchema.safeParse(data);
        for (const channel of [...(guild?.channels ?? []), ...(guild?.threads ?? [])])
          channels.learn(channel, guild?.id);
      },
      [GatewayDispatchEvents.ThreadCreate]: (data) => channels.learn(data),
    },
    connected(shard, isGapless) {
      if (closing.signal.aborted) return;
      const known = shards.get(shard);
      const catchUp = known ?? catchUpOnReconnect("Discord", workOf(shard), log);
      shards.set(shard, catchUp);
      catchUp.connected(isGapless);
    },
    disconnected: (shard) => shards.get(shard)?.disconnected(),
  });

  const workOf = (shard: number) => {
    // Each shard is listened to for itself, perhaps by another process.
    const post = () => `shard-${shard}-of-${gateway.client.options.shardCount ?? 1}`;
    return {
      present: () => downtime.markConnected("discord", post()),
      async catchUp() {
        const since = await downtime.lastConnectedAt("discord", post());
        if (since === undefined) return;
        const guilds = [...gateway.client.guilds.cache.values()].filter(({ shardId }) => shardId === shard);
        const ids = guilds.map(({ id }) => id);
        const directs = shard === 0 ? await downtime.threads("discord", directWorkspace) : [];
        const workspaces = [...ids, ...(shard === 0 ? [directWorkspace] : [])];
        const ground = {
          ...{ rest: patient, guilds: ids, directs: directs.map(({ thread }) => thread) },
          open: await downtime.open("discord", workspaces),
          ...{ reader, people, signal: closing.signal, log },
        };
        await readMissedEvents(ground, since, receive);
      },
    };
  };

  const close = async () => {
    lines.close();
    closing.abort();
    for (const catchUp of shards.values()) catchUp.close();
    await gateway.close();
    await lines.done();
  };
  await gateway.client.login(options.token).catch(async (error: unknown) => {
    await close();
    throw tokenError(error);
  });
  return { close };
}

/** Without the commands everything else still works. */
async function register(rest: REST, applicationId: string, { log }: DiscordAdapterOptions): Promise<void> {
  try {
    if (await registerCommands(rest, applicationId)) log.info("The Discord commands were registered.");
  } catch (error) {
    log.warn({ err: error }, "The Discord commands could not be registered; mentions work all the same.");
  }
}
