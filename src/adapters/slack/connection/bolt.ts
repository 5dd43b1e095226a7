import type { AllMiddlewareArgs, AnyMiddlewareArgs, Receiver, ReceiverEvent } from "@slack/bolt";
import { App } from "./bolt-modules.ts";
import { readContextTeam } from "./context-team.ts";
import { NotInstalled } from "./team.ts";
import { clientOptions, type SlackServer } from "./web.ts";

/**
 * A Bolt app that persists before it acknowledges. Bolt itself acknowledges an event before its listeners run, and loses
 * it when they fail. Here the acknowledgement is sent once all listeners are done, and never if one has thrown: then
 * Slack delivers the event again.
 */
class PersistFirstApp extends App {
  readonly #pending = new Set<Promise<void>>();
  #isClosed = false;

  override async processEvent(event: ReceiverEvent): Promise<void> {
    // Without an acknowledgement, Slack delivers it to another connection.
    if (this.#isClosed) return;
    const work = this.#process(event);
    this.#pending.add(work);
    try {
      await work;
    } finally {
      this.#pending.delete(work);
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

  /** Takes no more events; resolves when those being handled are done. */
  async finish(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#pending);
  }
}

/** Of so many workspaces it is remembered that their problem was told. */
const mostTold = 1_000;

/** The workspace that an event is about, for all handlers. */
function nameTeam({ body, context, next }: AnyMiddlewareArgs & AllMiddlewareArgs): Promise<void> {
  const team = readContextTeam(body);
  if (team !== undefined) context.teamId = team;
  return next();
}

/** A Bolt app that makes no calls of its own: each listener finds the team that it listens for. */
export function createApp(receiver: Receiver, access: SlackServer): PersistFirstApp {
  const sdk = clientOptions(access);
  const app = new PersistFirstApp({
    receiver,
    authorize: async () => ({}),
    // The event reader decides about our own messages, as about those of all bots.
    ignoreSelf: false,
    convoStore: false,
    logger: sdk.logger,
    clientOptions: sdk,
  });
  app.use(nameTeam);
  const told = new Set<string>();
  app.error(async (error) => {
    const cause = "original" in error ? error.original : undefined;
    if (!(cause instanceof NotInstalled)) throw error;
    // A redelivery would fail as well, so it is acknowledged.
    if (told.has(cause.message) || told.size >= mostTold) return;
    told.add(cause.message);
    access.log.warn(cause.message);
  });
  return app;
}
