import { type Client, GatewayDispatchEvents, type REST } from "discord.js";
import type { BaseLogger } from "pino";
import { z } from "zod";
import type { ChatAdapter } from "../../chat/adapter.ts";
import type { Downtime } from "../../chat/downtime.ts";
import type { Author, InboundEvent, Intake } from "../../chat/inbound.ts";
import { type CatchUp, catchUpOnReconnect, type CatchUpWork } from "../../chat/missed-events.ts";
import { explainOutage } from "../../chat/outage.ts";
import type { TaskChoices } from "../../chat/task-choices.ts";
import type { ThreadRef } from "../../chat/threads.ts";
import { type Channels, createChannels } from "./connection/channels.ts";
import type { GatewayHandlers, GatewayOptions } from "./connection/gateway.ts";
import { directWorkspace } from "./connection/ids.ts";
import { keepGateway } from "./connection/keep-gateway.ts";
import { createPeople, type People } from "./connection/people.ts";
import { type PresenceOptions, showPresence } from "./connection/presence.ts";
import { createRest } from "./connection/rest.ts";
import { readMissedEvents } from "./inbound/catch-up.ts";
import { EventReader } from "./inbound/events.ts";
import { RemovedPlaces } from "./inbound/removed-places.ts";
import { createStartReactions } from "./inbound/start-reactions.ts";
import { createKeyedQueue, type KeyedQueue } from "./inbound/keyed-queue.ts";
import { identify, createDiscordTokenError } from "./installation/check.ts";
import { registerCommands } from "./interactions/commands.ts";
import { createInteractions } from "./interactions/interactions.ts";

export interface DiscordAdapterOptions extends GatewayOptions, PresenceOptions {
  /** What to tell the operator at start where nobody is listed who may give work. */
  closed?: string | undefined;
  /** Emoji that stop a turn; of custom ones the name. */
  stopReactions: readonly string[];
  /** Emoji that give a message to the agent; of custom ones the name. Default: none. */
  startReactions?: readonly string[];
  /** Whether messages count in that channel that address nobody. Default: in none. */
  isWatched?(workspace: string, channel: string): boolean;
  downtime: Downtime;
  /** Whether that person's tasks are accepted: the bot posts no others in its own name. */
  mayAsk(workspace: string, author: Author): boolean;
  /** What `/agent` suggests there to that person; nothing to those whose tasks are not accepted. */
  choices(place: ThreadRef, author: Author): Promise<TaskChoices>;
  /** Told of a thread that has changed and can be written into: what was kept while it was locked may be sent. */
  onWritable?(thread: ThreadRef): Promise<void>;
  /** How soon a connection that Discord has closed for good is tried again, ms. Default: 15,000. */
  reopenMs?: number;
}

interface Connection {
  problem(): string | undefined;
  close(): Promise<void>;
}

/** Brings events in from Discord's gateway. Writes go through a surface, which is created separately. */
export function createDiscordAdapter(options: DiscordAdapterOptions): ChatAdapter {
  let connection: Connection | undefined;
  return {
    platform: "discord",
    async start(intake) {
      connection = await open(options, intake);
    },
    async stop() {
      await connection?.close();
      connection = undefined;
    },
    problem: () => connection?.problem(),
  };
}

const guildSchema = z.object({
  id: z.string(),
  channels: z.array(z.unknown()).default([]),
  threads: z.array(z.unknown()).default([]),
});
/** https://docs.discord.com/developers/resources/channel#thread-metadata-object */
const changedThreadSchema = z.object({
  id: z.string(),
  guild_id: z.string(),
  parent_id: z.string(),
  thread_metadata: z.object({ locked: z.boolean() }),
});
const inChannelSchema = z.object({ channel_id: z.string() });

/** What the parts of one connection share. */
interface ConnectionDeps {
  options: DiscordAdapterOptions;
  channels: Channels;
  people: People;
  reader: EventReader;
  /** See `createStartReactions`. */
  readStart(event: unknown): Promise<InboundEvent | undefined>;
  removed: RemovedPlaces;
  receive: Intake["receive"];
  /** Aborted when the adapter stops. */
  signal: AbortSignal;
}

async function open(options: DiscordAdapterOptions, intake: Intake): Promise<Connection> {
  const { log } = options;
  const rest = createRest(options, { timeoutMs: 10_000 });
  const { identity, description, warnings } = await identify(rest, options);
  log.info(`Discord: ${description}.`);
  for (const warning of warnings) log.warn(warning);
  await register(rest, identity.applicationId, options);

  const channels = createChannels(rest);
  const people = createPeople(rest);
  const reader = new EventReader({ ...options, identity, channels, people });
  const receive = (event: InboundEvent) => intake.receive(event);
  const interact = createInteractions({ ...options, rest, identity, channels, people, receive });
  const closing = new AbortController();
  const removed = new RemovedPlaces({ rest, downtime: options.downtime, log });
  const deps: ConnectionDeps = {
    ...{ options, channels, people, reader, removed, receive },
    readStart: createStartReactions({ ...options, rest, identity, channels, people }),
    signal: closing.signal,
  };
  // Events of one channel are handed in one after the other.
  const queue = createKeyedQueue();
  const shards = new Map<number, CatchUp>();

  const gateway = keepGateway(options, {
    dispatch: createDispatch(deps, {
      queue,
      interact,
      onLost: (shard) => shards.get(shard)?.missed(),
    }),
    connected(shard, isGapless) {
      if (closing.signal.aborted) return;
      const known = shards.get(shard);
      const catchUp =
        known ??
        catchUpOnReconnect(
          "Discord",
          createCatchUpWork(deps, () => gateway.client, shard),
          log,
        );
      shards.set(shard, catchUp);
      catchUp.connected(isGapless);
      if (!isGapless) presence.renew();
    },
    disconnected: (shard) => shards.get(shard)?.disconnected(),
  });

  const presence = showPresence(options, () => gateway.client);

  const close = async () => {
    presence.close();
    queue.close();
    closing.abort();
    await Promise.all([...shards.values()].map((catchUp) => catchUp.close()));
    await gateway.close();
    await queue.done();
  };
  await gateway.start().catch(async (error: unknown) => {
    await close();
    throw createDiscordTokenError(error);
  });
  return { problem: () => gateway.problem(), close };
}

/** What becomes of each event that the gateway dispatches. */
function createDispatch(
  { options: { log, onWritable }, channels, reader, readStart, removed, receive }: ConnectionDeps,
  {
    queue,
    interact,
    onLost,
  }: {
    queue: KeyedQueue;
    interact(data: unknown): Promise<void>;
    /** Called when an event could not be stored. */
    onLost(shard: number): void;
  },
): GatewayHandlers["dispatch"] {
  // Intake has posted whatever people should read about the result.
  const handIn =
    (read: (data: unknown) => Promise<InboundEvent | undefined | InboundEvent[]>) =>
    (data: unknown, shard: number) =>
      queue.add(inChannelSchema.safeParse(data).data?.channel_id ?? "", async () => {
        try {
          for (const event of [await read(data)].flat()) if (event) await receive(event);
        } catch (error) {
          logUnstored(log, error);
          onLost(shard);
        }
      });

  return {
    [GatewayDispatchEvents.MessageCreate]: handIn((data) => reader.readCreated(data)),
    [GatewayDispatchEvents.MessageUpdate]: handIn((data) => reader.readChanged(data)),
    [GatewayDispatchEvents.MessageDelete]: handIn((data) => reader.readDeleted(data)),
    [GatewayDispatchEvents.MessageDeleteBulk]: handIn((data) => reader.readDeleted(data)),
    [GatewayDispatchEvents.MessageReactionAdd]: handIn(
      async (data) => (await reader.readReaction(data)) ?? readStart(data),
    ),
    [GatewayDispatchEvents.ThreadDelete]: handIn((data) => removed.readDeletedThread(data)),
    [GatewayDispatchEvents.ThreadUpdate]: handIn(async (data) => {
      const { data: changed } = changedThreadSchema.safeParse(data);
      if (!changed || changed.thread_metadata.locked) return undefined;
      const { id, guild_id, parent_id } = changed;
      await onWritable?.({ platform: "discord", workspace: guild_id, channel: parent_id, thread: id });
      return undefined;
    }),
    [GatewayDispatchEvents.ChannelDelete]: handIn((data) => removed.readDeletedChannel(data)),
    [GatewayDispatchEvents.ChannelUpdate]: handIn((data) => removed.readChangedChannel(data)),
    [GatewayDispatchEvents.GuildDelete]: handIn((data) => removed.readDeletedGuild(data)),
    [GatewayDispatchEvents.InteractionCreate]: (data) =>
      queue.add(undefined, async () => {
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
  };
}

/** How a shard catches up. Each has a downtime of its own, because another process may serve the others. */
function createCatchUpWork(
  { options, people, reader, receive, signal }: ConnectionDeps,
  client: () => Client,
  shard: number,
): CatchUpWork {
  const { downtime, log } = options;
  const rest = createRest(options, { timeoutMs: 20_000, patient: true });
  const shardName = () => `shard-${shard}-of-${client().options.shardCount ?? 1}`;
  const listGuilds = () =>
    [...client().guilds.cache.values()].filter(({ shardId }) => shardId === shard).map(({ id }) => id);
  // Discord sends direct messages to the first shard.
  const workspaces = () => [...listGuilds(), ...(shard === 0 ? [directWorkspace] : [])];
  return {
    markListening: () => downtime.markListening("discord", workspaces()),
    markAway: () => downtime.markAway("discord", workspaces()),
    markConnected: () => downtime.markConnected("discord", shardName()),
    async catchUp() {
      const since = await downtime.lastConnectedAt("discord", shardName());
      if (since === undefined) return async () => undefined;
      const directs = shard === 0 ? await downtime.threads("discord", directWorkspace) : [];
      const deps = {
        ...{ rest, guilds: listGuilds(), directs: directs.map(({ thread }) => thread) },
        open: await downtime.open("discord", workspaces()),
        ...{ reader, people, signal, log },
      };
      return readMissedEvents(deps, since, receive);
    },
  };
}

/** Without the commands everything else still works. */
async function register(rest: REST, applicationId: string, { log }: DiscordAdapterOptions): Promise<void> {
  try {
    if (await registerCommands(rest, applicationId)) log.info("The Discord commands were registered.");
  } catch (error) {
    log.warn({ err: error }, "The Discord commands could not be registered; mentions work all the same.");
  }
}

function logUnstored(log: BaseLogger, error: unknown): void {
  const problem = "A Discord event could not be stored; Heddle will look for it again";
  const outage = explainOutage(error);
  // A sentence, and no defect whose place is sought.
  if (outage !== undefined) log.warn(`${problem}: ${outage}`);
  else log.error({ err: error }, `${problem}.`);
}
