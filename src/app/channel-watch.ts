import type { ChannelWatch } from "../chat/channel-watch.ts";
import type { Settings } from "../config/schema.ts";
import { createChannelWatch, type WatchOptions } from "../hooks/watch/channel-watch.ts";
import type { DayBudget } from "../queue/budgets/budgets.ts";
import { nameWatch } from "../queue/budgets/usage.ts";
import type { Configuration } from "./configuration/live-configuration.ts";

/** The channels that are watched at the time. */
export function openChannelWatch({
  configuration,
  ...options
}: Pick<WatchOptions, "redis" | "queue" | "onProblem"> & {
  configuration: Pick<Configuration, "current">;
}): ChannelWatch {
  return createChannelWatch({
    ...options,
    settings: (channel) => configuration.current().settings.channels[channel]?.watch,
    now: Date.now,
  });
}

/** What triggers and watched channels may use in a day, by the names that their turns are counted under. */
export function listTriggerBudgets({
  channels,
  triggers,
}: Pick<Settings, "channels" | "triggers">): Map<string, DayBudget> {
  const watched = Object.entries(channels).flatMap(([channel, { watch }]) =>
    watch ? [[nameWatch(channel), watch.budget] as const] : [],
  );
  return new Map([
    ...Object.entries(triggers).map(([name, { budget }]) => [name, budget] as const),
    ...watched,
  ]);
}

/** The channels of the platform that are watched. */
export function listWatched(
  { channels }: Pick<Settings, "channels">,
  platform: string,
): { workspace: string; channel: string }[] {
  return Object.entries(channels).flatMap(([id, { watch }]) => {
    const [of, workspace = "", channel = ""] = id.split(":");
    return watch && of === platform ? [{ workspace, channel }] : [];
  });
}
