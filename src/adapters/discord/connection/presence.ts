import { ActivityType, type Client } from "discord.js";
import type { BaseLogger } from "pino";

/** How often it is looked. Discord takes 120 events a minute. https://docs.discord.com/developers/events/gateway#rate-limiting */
const lookMs = 15_000;

export interface PresenceOptions {
  /** How many turns run on Discord, of all processes. Absent: the bot shows nothing but that it is online. */
  countRunning?(): Promise<number>;
  /** Default: 15,000. */
  presenceMs?: number;
  log: BaseLogger;
}

export interface ShownPresence {
  /** A session has begun, which knows of no presence. */
  renew(): void;
  close(): void;
}

/** Shows beside the bot's name how many turns run, and nothing where none does. */
export function showPresence(
  { countRunning, presenceMs = lookMs, log }: PresenceOptions,
  client: () => Client,
): ShownPresence {
  let shown = 0;
  let isLooking = false;

  const look = async (): Promise<void> => {
    // A Redis that is away answers all at once when it is back.
    if (isLooking || !countRunning) return;
    isLooking = true;
    try {
      const running = await countRunning();
      if (running === shown) return;
      const state = `Working on ${running === 1 ? "1 task" : `${running} tasks`}`;
      const activities = running > 0 ? [{ name: "Heddle", type: ActivityType.Custom, state }] : [];
      const { user } = client();
      if (!user) return;
      user.setPresence({ status: "online", activities });
      shown = running;
    } catch (error) {
      log.debug({ err: error }, "The presence on Discord could not be shown.");
    } finally {
      isLooking = false;
    }
  };

  const timer = setInterval(() => void look(), presenceMs).unref();
  return {
    renew() {
      shown = 0;
      void look();
    },
    close: () => clearInterval(timer),
  };
}
