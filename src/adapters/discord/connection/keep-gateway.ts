import type { Client } from "discord.js";
import { explainClosing, createDiscordTokenError } from "../installation/check.ts";
import { createGateway, type GatewayHandlers, type GatewayOptions } from "./gateway.ts";

/** How soon a connection that Discord has closed for good is tried again; each time twice as long, up to the longest. */
const firstRetryMs = 15_000;
/** Discord allows 1,000 identifications a day. https://docs.discord.com/developers/events/gateway#session-start-limit-object */
const longestRetryMs = 300_000;

export interface KeptGateway {
  readonly client: Client;
  /** Rejects with a sentence for the operator. */
  start(): Promise<void>;
  /** Why nothing is heard, where that does not pass by itself. */
  problem(): string | undefined;
  close(): Promise<void>;
}

/**
 * A gateway that comes back also after Discord has closed its connection for good, as it does when the token or an intent
 * is withdrawn: an operator puts that right on Discord's page, where no restart is asked for.
 */
export function keepGateway(
  options: GatewayOptions & { reopenMs?: number },
  handlers: Omit<GatewayHandlers, "closedForGood">,
): KeptGateway {
  const { log, token, reopenMs = firstRetryMs } = options;
  let isStarted = false;
  let isClosed = false;
  let problem: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let waitMs = reopenMs;

  const closedForGood = (code: number): void => {
    // While it starts, the start fails with the reason.
    if (!isStarted || isClosed) return;
    const why = explainClosing(code);
    log.error(`Discord has closed the connection for good: ${why} Heddle goes on trying to connect.`);
    reopenLater(why);
  };
  const open = () => createGateway(options, { ...handlers, closedForGood });
  let gateway = open();

  const reopenLater = (why: string): void => {
    problem = why;
    clearTimeout(timer);
    timer = setTimeout(() => void reopen(), waitMs);
    waitMs = Math.min(2 * waitMs, longestRetryMs);
  };
  const reopen = async (): Promise<void> => {
    try {
      await gateway.close();
      if (isClosed) return;
      gateway = open();
      await gateway.client.login(token);
      problem = undefined;
      waitMs = reopenMs;
      log.info("Discord has taken the connection again.");
    } catch (error) {
      if (!isClosed) reopenLater(createDiscordTokenError(error).message);
    }
  };

  return {
    get client() {
      return gateway.client;
    },
    async start() {
      await gateway.client.login(token);
      isStarted = true;
    },
    problem: () => problem,
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await gateway.close();
    },
  };
}
