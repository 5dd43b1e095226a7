import { createPages } from "../accounts/pages.ts";
import { type HookOptions, openHooks, type Hooks } from "../hooks/server.ts";
import { checkPermission } from "../intake/recheck-permission.ts";
import { whileAnswering } from "../queue/redis/while-answering.ts";
import type { Config } from "../config/load.ts";
import type { AppContext } from "./context.ts";
import { createOwnAccounts } from "./repositories.ts";

/** The triggers whose secret the environment lacks, with the name of its variable. */
export function listMissingSecrets({ settings, variables }: Config): { name: string; variable: string }[] {
  const triggers = Object.entries(settings.triggers).map(([name, { secretVariable }]) => ({
    name,
    variable: secretVariable,
  }));
  const repositories = Object.entries(settings.repositories).flatMap(([name, { feedback }]) =>
    feedback ? [{ name: `repository/${name}`, variable: feedback.secretVariable }] : [],
  );
  return [...triggers, ...repositories].filter(({ variable }) => variables[variable] === undefined);
}

/**
 * Receives webhooks, where the operator has configured a trigger. What is wrong takes no gateway down: the log says it,
 * and nothing is received.
 */
export async function openConfiguredHooks(context: AppContext): Promise<Hooks | undefined> {
  const { config, log, redis, server, queue, output, surface } = context;
  const { hooks, triggers } = config.settings;
  const repositories = listFeedbackSources(config);
  const isNeeded = Object.keys(triggers).length > 0 || repositories.size > 0 || hooks.address !== undefined;
  if (!isNeeded) return undefined;
  for (const { name, variable } of listMissingSecrets(config))
    log.error(`The trigger ${name} takes nothing until its secret is set: ${variable}.`);
  const withSecrets = Object.entries(triggers).map(
    ([name, trigger]) => [name, { ...trigger, secret: config.variables[trigger.secretVariable] }] as const,
  );
  try {
    const opened = await openHooks({
      ...{ ...hooks, redis, queue, output, surface },
      triggers: new Map(withSecrets),
      repositories,
      ...(hooks.address !== undefined && { pages: createPages(context.connecting, hooks.address) }),
      mayAsk: (thread, author) => checkPermission(thread, author, context),
      ownAccounts: createOwnAccounts(config),
      confirm: (work) => whileAnswering(work, { redis, isAnswering: server.isAnswering }),
      now: Date.now,
      onProblem: (problem, error) => log.warn(error === undefined ? {} : { err: error }, problem),
    });
    log.info({ host: hooks.host, port: opened.port }, "webhooks are received");
    return opened;
  } catch (error) {
    log.error(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

/** The repositories that tell what became of pull requests, by their names in the settings. */
function listFeedbackSources({ settings, variables }: Config): NonNullable<HookOptions["repositories"]> {
  return new Map(
    Object.entries(settings.repositories).flatMap(([name, { url, feedback }]) => {
      if (!feedback) return [];
      const { host, pathname } = new URL(url);
      const repository = pathname.slice(1).replace(/\.git$/, "");
      const { perHour, secretVariable } = feedback;
      return [[name, { host, repository, perHour, secret: variables[secretVariable] }] as const];
    }),
  );
}
