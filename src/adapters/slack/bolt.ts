import { App, type ReceiverEvent, SocketModeReceiver } from "@slack/bolt";
import type { Identity } from "./events.ts";
import { clientOptions, type SlackAccess } from "./web.ts";

/**
 * A Bolt app that persists before it acknowledges. Bolt itself acknowledges an event before its listeners
 * run, and loses it when they fail. Here the acknowledgement goes out when all listeners are done, and never
 * if one has thrown: then Slack delivers the event again.
 */
class PersistFirstApp extends App {
  readonly #inHand = new Set<Promise<void>>();
  #isClosed = false;

  override async processEvent(event: ReceiverEvent): Promise<void> {
    // Not acknowledged either: Slack gives it to another connection.
    if (this.#isClosed) return;
    const work = this.#process(event);
    this.#inHand.add(work);
    try {
      await work;
    } finally {
      this.#inHand.delete(work);
    }
  }

  async #process(event: ReceiverEvent): Promise<void> {
    let answer: unknown;
    const heldAck = async (response: unknown) => {
      answer = response;
    };
    await super.processEvent({ ...event, ack: heldAck });
    await event.ack(answer);
  }

  /** Takes no more events, and resolves when those in hand are done. */
  async finish(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#inHand);
  }
}

/** A Bolt app for Socket Mode that makes no call of its own, and the receiver whose client connects it. */
export function createApp(
  access: SlackAccess & { appToken: string },
  { botId, botUserId }: Identity,
): { app: PersistFirstApp; receiver: SocketModeReceiver } {
  const sdk = clientOptions(access);
  const receiver = new SocketModeReceiver({
    appToken: access.appToken,
    logger: sdk.logger,
    // See socket.ts.
    autoReconnectEnabled: false,
    installerOptions: { clientOptions: { ...sdk, timeout: 10_000, retryConfig: { retries: 0 } } },
    processEventErrorHandler: async ({ error }) => {
      // Bolt wraps what is not its own.
      const err = "original" in error ? error.original : error;
      access.log.error({ err }, "A Slack event was not acknowledged, so Slack will send it again.");
      return false;
    },
  });
  const app = new PersistFirstApp({
    receiver,
    token: access.botToken,
    // Knowing both, Bolt does not ask again who it is.
    botId,
    botUserId,
    tokenVerificationEnabled: false,
    // The event reader decides about our own messages, as about those of all bots.
    ignoreSelf: false,
    convoStore: false,
    logger: sdk.logger,
    clientOptions: sdk,
  });
  app.error(async (error) => {
    throw error;
  });
  return { app, receiver };
}
