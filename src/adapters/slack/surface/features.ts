import type { BaseLogger } from "pino";

/** What not every workspace has; Slack does not say so before it refuses it. */
export type Feature = "cards" | "feedback" | "session" | "status" | "streams" | "tables";

/** What one workspace is known to lack. */
export interface Features {
  has(feature: Feature): boolean;
  /** To be called when Slack has refused it: it is tried again after some hours. */
  onRefused(feature: Feature): void;
}

const names: Record<Feature, string> = {
  ...{ cards: "cards", feedback: "feedback buttons", streams: "messages that grow", tables: "tables" },
  ...{ session: "the session of a thread", status: "the status of a thread" },
};

const untilTriedAgainMs = 6 * 3_600_000;

export function createFeatures(log: BaseLogger, now = Date.now): Features {
  const refusedAt = new Map<Feature, number>();
  return {
    has: (feature) => now() - (refusedAt.get(feature) ?? -Infinity) >= untilTriedAgainMs,
    onRefused(feature) {
      refusedAt.set(feature, now());
      log.info(
        `Slack does not take ${names[feature]} in this workspace; Heddle does without for some hours.`,
      );
    },
  };
}
