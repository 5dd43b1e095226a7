import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { z } from "zod";

/** Something that Slack tells the app, with what has become of it. */
export interface Delivery {
  kind: "events_api" | "interactive" | "slash_commands";
  /** The type of the event (`app_mention`), of the interaction (`block_actions`), or the command. */
  type: string;
  payload: Record<string, unknown>;
  /** How often it was sent. */
  attempts: number;
  isAcknowledged: boolean;
  /** What came with the acknowledgement. */
  answer?: unknown;
  /** An interaction that was not acknowledged in time: the person is told that it failed. */
  hasFailed?: boolean;
  /** Called with the answer, if it came in time. */
  onAnswer?: (answer: unknown) => void;
}

/** What is to be told to the app. */
export type NewDelivery = Pick<Delivery, "kind" | "type" | "payload" | "onAnswer">;

interface SocketModeOptions {
  appId: string;
  /** Milliseconds without an acknowledgement after which it is sent again. Slack waits 3,000. */
  ackTimeoutMs: number;
  /** Slack tries three more times. */
  maxRetries: number;
  /** Called when a connection or a delivery has changed. */
  onChange(): void;
}

/** A client that hears nothing for 30 s gives the connection up. */
const pingIntervalMs = 10_000;

const ackSchema = z.object({ envelope_id: z.string(), payload: z.unknown() });

/** The WebSocket side: tickets, hello, envelopes that must be acknowledged, rotation of connections. */
export class SocketMode {
  readonly deliveries: Delivery[] = [];
  readonly #options: SocketModeOptions;
  readonly #server: WebSocketServer;
  readonly #tickets = new Set<string>();
  readonly #open = new Map<WebSocket, Map<string, Delivery>>();
  readonly #timers = new Map<Delivery, NodeJS.Timeout>();
  readonly #waiting = new Set<Delivery>();
  #next = 0;
  #hangUps = 0;
  #mutes = 0;

  constructor(server: Server, options: SocketModeOptions) {
    this.#options = options;
    this.#server = new WebSocketServer({ noServer: true });
    server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const ticket = new URL(request.url ?? "/", "http://fake").searchParams.get("ticket") ?? "";
      if (!this.#tickets.delete(ticket)) {
        socket.end("HTTP/1.1 401 Unauthorized\r\n\r\n");
        return;
      }
      this.#server.handleUpgrade(request, socket, head, (client) => this.#welcome(client));
    });
  }

  /** How many connections are open. */
  get connections(): number {
    return this.#open.size;
  }

  /** For `apps.connections.open`: a ticket is good for one connection. */
  issueTicket(): string {
    const ticket = randomUUID();
    this.#tickets.add(ticket);
    return ticket;
  }

  /** Sends to one arbitrary connection, or to the next one that opens. */
  deliver(delivery: NewDelivery): Delivery {
    const entry: Delivery = { ...delivery, attempts: 0, isAcknowledged: false };
    this.deliveries.push(entry);
    this.#send(entry);
    return entry;
  }

  /** Asks every connection to come back as a new one, as Slack does every few hours. */
  refresh(): void {
    for (const client of this.#open.keys()) {
      client.send(JSON.stringify({ type: "disconnect", reason: "refresh_requested", debug_info: {} }));
    }
  }

  /** Cuts every connection without a word. */
  cut(): void {
    for (const client of this.#open.keys()) client.terminate();
  }

  /** Gives up what was not acknowledged, as Slack does after its retries. */
  forget(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    for (const delivery of this.deliveries) delivery.attempts = this.#options.maxRetries + 1;
    this.#waiting.clear();
  }

  /** Closes the next connections before it has said hello. */
  hangUp(times: number): void {
    this.#hangUps += times;
  }

  /** Says no hello on the next connections. */
  mute(times: number): void {
    this.#mutes += times;
  }

  /** Reads and answers nothing more on the open connections, not even pings, as when a network drops packets. */
  freeze(): void {
    for (const client of this.#open.keys()) client.pause();
  }

  async close(): Promise<void> {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    const closed = [...this.#open.keys()].map((client) => once(client, "close"));
    this.cut();
    await Promise.all(closed);
    this.#server.close();
  }

  #welcome(client: WebSocket): void {
    if (this.#hangUps > 0) {
      this.#hangUps -= 1;
      client.close();
      return;
    }
    if (this.#mutes > 0) {
      this.#mutes -= 1;
      return;
    }
    const sent = new Map<string, Delivery>();
    // The SDK sends text frames, which arrive as one buffer.
    client.on("message", (data: Buffer) => this.#acknowledge(sent, data.toString()));
    const pinging = setInterval(() => client.ping(), pingIntervalMs).unref();
    client.on("close", () => {
      clearInterval(pinging);
      this.#open.delete(client);
      // What it did not acknowledge goes to another connection.
      for (const delivery of new Set(sent.values())) if (!delivery.hasFailed) this.#send(delivery);
      this.#options.onChange();
    });
    client.on("error", () => client.terminate());
    client.send(
      JSON.stringify({
        type: "hello",
        num_connections: this.#open.size + 1,
        connection_info: { app_id: this.#options.appId },
        debug_info: { approximate_connection_time: 18_060 },
      }),
    );
    client.ping();
    this.#open.set(client, sent);
    for (const delivery of this.#waiting) this.#send(delivery);
    this.#options.onChange();
  }

  #send(delivery: Delivery): void {
    clearTimeout(this.#timers.get(delivery));
    this.#waiting.delete(delivery);
    if (delivery.isAcknowledged || delivery.attempts > this.#options.maxRetries) return;
    const connections = [...this.#open];
    const [client, sent] = connections[this.#next++ % connections.length] ?? [];
    if (!client || !sent) {
      this.#waiting.add(delivery);
      return;
    }
    const envelopeId = randomUUID();
    const isRetry = delivery.attempts > 0;
    delivery.attempts += 1;
    sent.set(envelopeId, delivery);
    client.send(
      JSON.stringify({
        envelope_id: envelopeId,
        type: delivery.kind,
        payload: delivery.payload,
        accepts_response_payload: delivery.kind !== "events_api",
        ...(isRetry && { retry_attempt: delivery.attempts - 1, retry_reason: "timeout" }),
      }),
    );
    const timer = setTimeout(() => this.#timeOut(delivery), this.#options.ackTimeoutMs).unref();
    this.#timers.set(delivery, timer);
  }

  /** Slack does not repeat interactions: the person is told, and presses again. */
  #timeOut(delivery: Delivery): void {
    if (delivery.kind === "events_api") {
      this.#send(delivery);
      return;
    }
    delivery.hasFailed = true;
    this.#options.onChange();
  }

  #acknowledge(sent: ReadonlyMap<string, Delivery>, data: string): void {
    const { envelope_id, payload } = ackSchema.parse(JSON.parse(data));
    const delivery = sent.get(envelope_id);
    if (!delivery) throw new Error(`The app acknowledged ${envelope_id}, which it was not sent.`);
    delivery.isAcknowledged = true;
    delivery.answer = payload;
    if (!delivery.hasFailed) delivery.onAnswer?.(payload);
    clearTimeout(this.#timers.get(delivery));
    this.#options.onChange();
  }
}
