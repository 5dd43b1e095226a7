import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { GatewayIntentBits } from "discord.js";
import { type WebSocket, WebSocketServer } from "ws";
import { z } from "zod";
import {
  type FakeDispatch,
  wireChannel,
  wireMember,
  wireRoles,
  wireUser,
  withoutContent,
  type World,
} from "./world.ts";

const payloadSchema = z.discriminatedUnion("op", [
  z.object({ op: z.literal(1), d: z.number().nullable() }),
  z.object({
    op: z.literal(2),
    d: z.object({
      token: z.string(),
      intents: z.number(),
      shard: z.tuple([z.number(), z.number()]).default([0, 1]),
      properties: z.object({ os: z.string(), browser: z.string(), device: z.string() }),
    }),
  }),
  // https://docs.discord.com/developers/events/gateway-events#update-presence
  z.object({
    op: z.literal(3),
    d: z.strictObject({
      since: z.int().nullable(),
      // Of a bot. https://docs.discord.com/developers/events/gateway-events#activity-object
      activities: z.array(
        z.strictObject({
          name: z.string().min(1).max(128),
          type: z.int(),
          state: z.string().max(128).optional(),
        }),
      ),
      status: z.literal(["online", "dnd", "idle", "invisible", "offline"]),
      afk: z.boolean(),
    }),
  }),
  z.object({ op: z.literal(6), d: z.object({ token: z.string(), session_id: z.string(), seq: z.number() }) }),
]);

const allIntents = Object.values(GatewayIntentBits)
  .filter((bit) => typeof bit === "number")
  .reduce((all, bit) => all | bit, 0);

/** What the intents of a session must hold for a dispatch: in a server, and in direct messages. */
const intentOf: Record<string, [guild: number, direct: number]> = {
  MESSAGE: [GatewayIntentBits.GuildMessages, GatewayIntentBits.DirectMessages],
  REACTION: [GatewayIntentBits.GuildMessageReactions, GatewayIntentBits.DirectMessageReactions],
  GUILD: [GatewayIntentBits.Guilds, 0],
};

interface Session {
  id: string;
  shard: readonly [id: number, count: number];
  intents: number;
  /** Everything that was dispatched in it, to be sent again after a gap. */
  sent: { op: 0; s: number; t: string; d: unknown }[];
  socket?: WebSocket | undefined;
}

export interface GatewayOptions {
  token: string;
  world(): World;
  address(path: string, scheme: "ws"): string;
  /** Whether the app has switched the privileged intent on. */
  messageContent: boolean;
  onChange(): void;
}

/** The gateway, version 10: hello, identify, heartbeats, dispatches by shard and intents, resume, and gaps. */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #server = new WebSocketServer({ noServer: true });
  readonly #sessions = new Map<string, Session>();
  /** How often sessions were begun anew, and taken up again. */
  identified = 0;
  /** What the bot shows beside its name, the newest last. */
  readonly presences: string[] = [];
  resumed = 0;
  /** How often clients of connections from now on say that they are alive, ms. */
  heartbeatMs = 41_250;
  readonly #frozen = new Set<WebSocket>();

  constructor(server: Server, options: GatewayOptions) {
    this.#options = options;
    server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const url = new URL(request.url ?? "/", "http://fake");
      if (url.pathname !== "/gateway" && url.pathname !== "/gateway/") {
        socket.end("HTTP/1.1 404 Not Found\r\n\r\n");
        return;
      }
      this.#server.handleUpgrade(request, socket, head, (client) => this.#welcome(client, url));
    });
  }

  get connections(): number {
    return [...this.#sessions.values()].filter(({ socket }) => socket).length;
  }

  /** Sends to every session that listens to it: unlike Slack, Discord does not choose one. */
  dispatch(dispatch: FakeDispatch): void {
    const { type, data, guild, channel, message } = dispatch;
    const world = this.#options.world();
    // Bots are told of channels themselves also where they may not look into them: discord.js asks `channel.viewable`.
    if (channel && type !== "CHANNEL_UPDATE" && !world.may(channel, "ViewChannel")) return;
    const kind = /REACTION|^MESSAGE/.exec(type)?.[0] ?? "GUILD";
    for (const session of this.#sessions.values()) {
      const [id, count] = session.shard;
      const shard = guild ? Number((BigInt(guild.id) >> 22n) % BigInt(count)) : 0;
      const needed = intentOf[kind]?.[guild ? 0 : 1] ?? 0;
      const isWanted = type === "INTERACTION_CREATE" || needed === 0 || (session.intents & needed) !== 0;
      if (shard !== id || !isWanted) continue;
      const readsAll = (session.intents & GatewayIntentBits.MessageContent) !== 0;
      this.#send(session, type, message && !readsAll ? withoutContent(world, message, data) : data);
    }
    this.#options.onChange();
  }

  /** Asks every client to connect again, as Discord does now and then. */
  reconnect(): void {
    for (const { socket } of this.#sessions.values()) socket?.send(JSON.stringify({ op: 7, d: null }));
  }

  /** Cuts every connection without a word, or with a code that says why; sessions can be resumed. */
  cut(code?: number): void {
    for (const { socket } of this.#sessions.values()) {
      if (code === undefined) socket?.terminate();
      else socket?.close(code);
    }
  }

  /** Leaves the connections open and answers nothing on them any more, as when a router forgets them. */
  freeze(): void {
    for (const client of this.#server.clients) this.#frozen.add(client);
  }

  /** Forgets every session, so that none can be resumed. */
  forget(): void {
    const sockets = [...this.#sessions.values()].flatMap(({ socket }) => socket ?? []);
    this.#sessions.clear();
    for (const socket of sockets) socket.terminate();
  }

  async close(): Promise<void> {
    const clients = [...this.#server.clients];
    const closed = clients.map((client) => once(client, "close"));
    for (const client of clients) client.terminate();
    await Promise.all(closed);
    this.#server.close();
  }

  #welcome(client: WebSocket, { searchParams }: URL): void {
    if (searchParams.get("v") !== "10" || searchParams.get("encoding") !== "json") {
      client.close(4012, "Invalid API version");
      return;
    }
    let session: Session | undefined;
    const sent: number[] = [];
    client.on("error", () => client.terminate());
    client.on("close", () => {
      if (session?.socket === client) session.socket = undefined;
      this.#options.onChange();
    });
    // The client sends text frames, which arrive as one buffer.
    client.on("message", (data: Buffer) => {
      if (this.#frozen.has(client)) return;
      const { data: payload } = payloadSchema.safeParse(JSON.parse(data.toString()));
      sent.push(Date.now());
      if (sent.filter((at) => at > Date.now() - 60_000).length > 120) {
        client.close(4008, "Rate limited");
        return;
      }
      switch (payload?.op) {
        case 1:
          client.send(JSON.stringify({ op: 11 }));
          return;
        case 2:
          if (session) client.close(4005, "Already authenticated");
          else session = this.#identify(client, payload.d);
          return;
        case 3:
          if (!session) return client.close(4003, "Not authenticated");
          this.presences.push(payload.d.activities.map(({ state, name }) => state ?? name).join());
          this.#options.onChange();
          return;
        case 6:
          session = this.#resume(client, payload.d);
          return;
        case undefined:
          client.close(4002, "Decode error");
      }
    });
    client.send(JSON.stringify({ op: 10, d: { heartbeat_interval: this.heartbeatMs } }));
  }

  #identify(
    socket: WebSocket,
    d: { token: string; intents: number; shard: readonly [number, number] },
  ): Session | undefined {
    const { token, messageContent } = this.#options;
    const refuse = (code: number, why: string) => {
      socket.close(code, why);
      return undefined;
    };
    if (d.token !== token) return refuse(4004, "Authentication failed");
    if (!Number.isInteger(d.intents) || (d.intents & ~allIntents) !== 0)
      return refuse(4013, "Invalid intent(s)");
    if ((d.intents & GatewayIntentBits.MessageContent) !== 0 && !messageContent) {
      return refuse(4014, "Disallowed intent(s)");
    }
    if (d.shard[0] >= d.shard[1]) return refuse(4010, "Invalid shard");
    this.identified += 1;
    const session: Session = { id: randomUUID(), shard: d.shard, intents: d.intents, sent: [], socket };
    this.#sessions.set(session.id, session);
    const world = this.#options.world();
    const guilds = [...world.guilds.values()].filter(
      ({ id }) => Number((BigInt(id) >> 22n) % BigInt(d.shard[1])) === d.shard[0],
    );
    this.#send(session, "READY", {
      v: 10,
      user: wireUser(world.bot),
      guilds: guilds.map(({ id }) => ({ id, unavailable: true })),
      session_id: session.id,
      resume_gateway_url: this.#options.address("/gateway", "ws"),
      shard: d.shard,
      application: { id: world.applicationId, flags: 0 },
    });
    for (const guild of guilds) {
      const channels = [...world.channels.values()].filter(
        (channel) => channel.guild === guild && !channel.parent,
      );
      this.#send(session, "GUILD_CREATE", {
        id: guild.id,
        name: guild.name,
        owner_id: "1",
        roles: wireRoles(guild, world),
        emojis: [],
        stickers: [],
        features: [],
        channels: channels.map(wireChannel),
        threads: world.threads(guild).map(wireChannel),
        members: [{ ...wireMember(guild, world.bot), user: wireUser(world.bot) }],
        member_count: guild.members.size,
        presences: [],
        voice_states: [],
        stage_instances: [],
        guild_scheduled_events: [],
        soundboard_sounds: [],
        unavailable: false,
        large: false,
      });
    }
    this.#options.onChange();
    return session;
  }

  #resume(socket: WebSocket, d: { token: string; session_id: string; seq: number }): Session | undefined {
    if (d.token !== this.#options.token) {
      socket.close(4004, "Authentication failed");
      return undefined;
    }
    const session = this.#sessions.get(d.session_id);
    if (!session) {
      socket.send(JSON.stringify({ op: 9, d: false }));
      return undefined;
    }
    if (d.seq > session.sent.length) {
      socket.close(4007, "Invalid seq");
      return undefined;
    }
    session.socket = socket;
    this.resumed += 1;
    for (const payload of session.sent) if (payload.s > d.seq) socket.send(JSON.stringify(payload));
    this.#send(session, "RESUMED", {});
    this.#options.onChange();
    return session;
  }

  #send(session: Session, t: string, d: unknown): void {
    const payload = { op: 0, s: session.sent.length + 1, t, d } as const;
    session.sent.push(payload);
    session.socket?.send(JSON.stringify(payload));
  }
}
