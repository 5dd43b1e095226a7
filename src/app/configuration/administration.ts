import type { Redis } from "ioredis";
import { parseThreadId, threadId, type ThreadRef } from "../../chat/threads.ts";
import type { AdministrationOptions } from "../../intake/administration/administer.ts";
import { readChanges } from "../../queue/stores/administration-changes.ts";
import { channelSettings } from "../channel-settings.ts";
import { listModelNames, offerModels } from "../models/models.ts";
import { findObstacle } from "./apply-changes.ts";
import type { LiveConfiguration } from "./live-configuration.ts";

/** What intake needs to know of the configuration, for administrators in chat. */
export function openAdministration(
  configuration: Pick<LiveConfiguration, "current" | "changes">,
  redis: Redis,
): AdministrationOptions {
  const modelNames = () => {
    const config = configuration.current();
    return listModelNames({ ...config, settings: configuration.changes().file });
  };
  return {
    isOn: () => configuration.changes().file.administration.chat,
    models: modelNames,
    describe(place: ThreadRef) {
      const { settings } = configuration.current();
      const thread = threadId(place);
      const { platform, workspace, channel } = parseThreadId(thread);
      const of = `${platform}:${workspace}:${channel}`;
      const { instructions = "", verbosity = "normal" } = channelSettings(settings, thread);
      const budget = settings.budgets.channels[of] ?? settings.budgets.channel;
      return {
        model: offerModels(configuration.current(), thread).standard,
        instructions,
        verbosity,
        budget,
      };
    },
    findObstacle: (change) => findObstacle(configuration.changes().file, change, modelNames()),
    stored: () => readChanges(redis),
  };
}
