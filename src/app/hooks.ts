import { createPages } from "../accounts/pages.ts";
import type { FeedbackSource, HostQuestions } from "../hooks/feedback.ts";
import { type HookOptions, openHooks, type Hooks } from "../hooks/server.ts";
import { checkPermission } from "../intake/recheck-permission.ts";
import { kindOf } from "../repositories/kinds.ts";
import { whileAnswering } from "../queue/redis/while-answering.ts";
import type { Config } from "../config/load.ts";
import type { AppContext } from "./context.ts";
import { createAppReader, createOwnLogins, openGithubAppStore } from "./repositories/own-github-app.ts";

/** The triggers whose secret the environment lacks, with the name of its variable. */
export function listMissingSecrets({ settings, variables }: Config): { name: string; variable: string }[] {
  const triggers = Object.entries(settings.triggers).map(([name, { secretVariable }]) => ({
    name,
    variable: secretVariable,
  }));
  const repositories = Object.entries(settings.repositories).flatMap(([name, { feedback }]) =>
    feedback?.secretVariable !== undefined
      ? [{ name: `repository/${name}`, variable: feedback.secretVariable }]
      : [],
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
  const repositories = listFeedbackSources(context);
  const ofApp = listSourcesOfApp(config);
  const isNeeded =
    Object.keys(triggers).length > 0 ||
    repositories.size > 0 ||
    ofApp.length > 0 ||
    hooks.address !== undefined;
  if (!isNeeded) return undefined;
  for (const { name, variable } of listMissingSecrets(config))
    log.error(`The trigger ${name} takes nothing until its secret is set: ${variable}.`);
  const withSecrets = Object.entries(triggers).map(
    ([name, trigger]) => [name, { ...trigger, secret: config.variables[trigger.secretVariable] }] as const,
  );
  try {
    const opened = await openHooks({
      ...{ ...hooks, redis, queue, output, surface },
      ...(context.replicate && { replicate: context.replicate }),
      triggers: new Map(withSecrets),
      repositories,
      ...(hooks.address !== undefined && { pages: createPages(context.connecting, hooks.address) }),
      app: { sources: ofApp, secret: () => readAppSecret(context) },
      mayAsk: (thread, author) => checkPermission(thread, author, context),
      ownAccounts: createOwnLogins(
        config,
        createAppReader(config, { redis: () => redis, masker: context.masker }),
      ),
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

/** The repositories that tell what became of pull requests by a webhook of their own, by their names in the settings. */
function listFeedbackSources(context: AppContext): NonNullable<HookOptions["repositories"]> {
  const { config, repositories } = context;
  return new Map(
    Object.entries(config.settings.repositories).flatMap(([name, settings]) => {
      const secretVariable = settings.feedback?.secretVariable;
      const source = toSource(settings);
      if (!source || secretVariable === undefined) return [];
      const asks: HostQuestions = {
        mayWrite: (person) => repositories.mayWrite(name, person),
        readRemarks: (number, login) => repositories.readRemarks(name, number, login),
      };
      return [[name, { ...source, asks, secret: config.variables[secretVariable] }] as const];
    }),
  );
}

/** Those that tell it by the webhook of the GitHub App. */
function listSourcesOfApp({ settings }: Config): FeedbackSource[] {
  const { host } = new URL(settings.githubApp.url);
  return Object.values(settings.repositories).flatMap((each) => {
    const source = each.feedback?.secretVariable === undefined ? toSource(each) : undefined;
    return source?.kind === "github" && source.host === host ? [source] : [];
  });
}

function toSource({
  url,
  kind: given,
  feedback,
}: Config["settings"]["repositories"][string]): FeedbackSource | undefined {
  const address = new URL(url);
  const kind = given ?? kindOf(address);
  if (!feedback || kind === "git") return undefined;
  const repository = address.pathname.slice(1).replace(/\.git$/, "");
  return { kind, host: address.host, repository, perHour: feedback.perHour };
}

/** The secret of the App that was registered from the console; it may be another one by now. */
async function readAppSecret({ config, redis, masker }: AppContext): Promise<string | undefined> {
  const app = await openGithubAppStore(config, redis).read();
  if (app?.webhookSecret !== undefined) masker.add(app.webhookSecret);
  return app?.webhookSecret;
}
