import {
  Client,
  Events,
  GatewayDispatchEvents,
  GatewayIntentBits,
  Options,
  SimpleShardingStrategy,
} from "discord.js";
import { namesProxy } from "../../../agent/network/proxy-environment.ts";
import { type Reconnect, reconnects } from "../../../chat/adapter.ts";
import { type GatewayTunnel, openGatewayTunnel } from "./gateway-tunnel.ts";
import { type DiscordAccess, restOptions } from "./rest.ts";

/** Which part of all servers this process serves. */
export interface Shards {
  ids: number[];
  total: number;
}

/** What to do with what the gateway dispatches. */
export interface GatewayHandlers {
  dispatch: Partial<Record<GatewayDispatchEvents, (data: unknown, shard: number) => void>>;
  /** @param isGapless whether Discord has delivered everything since the last connection */
  connected(shard: number, isGapless: boolean): void;
  disconnected(shard: number): void;
  /** Discord has closed a connection and takes it no more as it is. @param code of the close */
  closedForGood(code: number): void;
}

export interface GatewayOptions extends DiscordAccess {
  messageContent: boolean;
  /** Default: as many as Discord recommends, all of them. */
  shards?: Shards;
}

/** What opens the client's connections. */
type ShardManager = ConstructorParameters<typeof SimpleShardingStrategy>[0];

/** What the client reports before it gives a connection up, by the words of `@discordjs/ws`. */
const announcesClosing =
  /^(?:Authentication failed|Invalid shard|Sharding is required|Used (?:an invalid API version|invalid intents|disallowed intents))$/;

/**
 * A client that connects to the gateway, resumes and identifies again. It is used for nothing else: events are read as
 * they arrive, so that nothing depends on what happens to be in a cache.
 */
export function createGateway(
  options: GatewayOptions,
  handlers: GatewayHandlers,
): { client: Client; close(): Promise<void> } {
  const { log, shards } = options;
  let preventReconnect = (): void => undefined;
  const tunnel = namesProxy(process.env)
    ? openGatewayTunnel((error) =>
        log.warn({ err: error }, "The proxy gives no connection to Discord's gateway."),
      )
    : undefined;
  const client = new Client({
    intents: [
      GatewayIntentBits.Guilds,
      GatewayIntentBits.GuildMessages,
      GatewayIntentBits.GuildMessageReactions,
      GatewayIntentBits.DirectMessages,
      GatewayIntentBits.DirectMessageReactions,
      ...(options.messageContent ? [GatewayIntentBits.MessageContent] : []),
    ],
    rest: restOptions(options, { timeoutMs: 15_000, patient: true }),
    makeCache: Options.cacheWithLimits({
      DMMessageManager: 0,
      GuildEmojiManager: 0,
      GuildMemberManager: { maxSize: 0, keepOverLimit: ({ id, client: { user } }) => id === user.id },
      GuildMessageManager: 0,
      GuildStickerManager: 0,
      PresenceManager: 0,
      ReactionManager: 0,
      ReactionUserManager: 0,
      ThreadMemberManager: 0,
      UserManager: { maxSize: 0, keepOverLimit: ({ id, client: { user } }) => id === user?.id },
      VoiceStateManager: 0,
    }),
    ws: {
      buildStrategy(manager) {
        if (tunnel) connectThrough(manager, tunnel);
        // A shard that waits to reconnect ignores destroy(). It asks for its session first, so that never resolves.
        preventReconnect = () => {
          manager.options.retrieveSessionInfo = () => new Promise(() => undefined);
        };
        return new SimpleShardingStrategy(manager);
      },
    },
    ...(shards ? { shards: shards.ids, shardCount: shards.total } : { shards: "auto" }),
  });
  for (const [name, handle] of Object.entries(handlers.dispatch)) {
    // The keys of the record are these names.
    client.ws.on(name as GatewayDispatchEvents, handle);
  }
  client.ws.on(GatewayDispatchEvents.Ready, (_data, shard) => handlers.connected(shard, false));
  client.ws.on(GatewayDispatchEvents.Resumed, (_data, shard) => handlers.connected(shard, true));
  client.on(Events.ShardReconnecting, (shard) => {
    reconnects.publish({ platform: "discord" } satisfies Reconnect);
    handlers.disconnected(shard);
  });
  client.on(Events.ShardDisconnect, ({ code }, shard) => {
    handlers.disconnected(shard);
    handlers.closedForGood(code);
  });
  client.on(Events.ShardError, (error) => {
    // The close that follows says it in a sentence.
    if (announcesClosing.test(error.message)) return;
    log.warn({ err: error }, "The connection to Discord has a problem.");
  });
  client.on(Events.Error, (error) => log.warn({ err: error }, "The Discord client has met an error."));
  return {
    client,
    async close() {
      preventReconnect();
      await client.destroy();
      await tunnel?.close();
    },
  };
}

/** Has every connection of the client opened by the tunnel, the first one and those that resume a session. */
function connectThrough(manager: ShardManager, tunnel: GatewayTunnel): void {
  const fetchInformation = manager.fetchGatewayInformation.bind(manager);
  manager.fetchGatewayInformation = async (...options) => {
    const information = await fetchInformation(...options);
    return { ...information, url: tunnel.through(information.url) };
  };
  const { retrieveSessionInfo } = manager.options;
  manager.options.retrieveSessionInfo = async (shard) => {
    const session = await retrieveSessionInfo(shard);
    return session && { ...session, resumeURL: tunnel.through(session.resumeURL) };
  };
}
