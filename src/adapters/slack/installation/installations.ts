import type { InstallationStore } from "@slack/bolt";
import type { Redis } from "ioredis";
import { z } from "zod";
import { createStoredParser } from "../../../agent/text/parse-stored.ts";
import { createSealedBox, type SealedBox } from "../../../agent/secrets/sealed-box.ts";
import { createWebClient, type SlackServer } from "../connection/web.ts";
import type { Identity } from "../inbound/events.ts";
import { installPath } from "./manifest.ts";
import type { OAuthClient } from "./oauth-client.ts";
import { createOrganisationTeams } from "./organisations.ts";
import { fetchNextToken, isExpiring, rotationSchema } from "./rotation.ts";

/**
 * The teams and organisations that have installed the app, with their bot tokens. An organisation's is good for all of its
 * workspaces to which its administrators have added the app, each of which is a team of its own here.
 */
export interface Installations {
  /**
   * The bot of a team, by its own installation or else by that of its organisation; undefined where the app is not
   * installed or no longer allowed.
   */
  find(teamId: string): Promise<Installation | undefined>;
  /** Ids of all teams that it can be found for. */
  all(): Promise<string[]>;
  /** The token that exactly that team or organisation has granted. */
  tokenOf(id: string): Promise<string | undefined>;
  /** @param id of a team or an organisation */
  remove(id: string): Promise<void>;
  /** For the SDK, which stores what a team or an organisation grants. */
  store: InstallationStore;
}

export interface Installation {
  botToken: string;
  identity: Identity;
}

/** The app may not be installed so; its sentence is for the person who tried. */
export class InstallationRefused extends Error {}

/** It was sealed with another secret, or tampered with: only that team is affected. */
export class UnreadableInstallation extends Error {}

/** Hash: id of a team or an organisation to its sealed installation. */
const key = "heddle:slack:installations";

const installationSchema = z.looseObject({
  botToken: z.string(),
  botId: z.string(),
  botUserId: z.string(),
  rotation: rotationSchema.optional(),
});

type Stored = z.infer<typeof installationSchema>;

const readInstallation = createStoredParser(installationSchema);

/** Present while a process exchanges a team's token, and for a while after a failure. */
const renewingKey = (teamId: string) => `heddle:slack:renewing:${teamId}`;
const renewingSeconds = 60;

/** @param server where expiring tokens are renewed, for apps with token rotation */
export function createInstallations(
  redis: Redis,
  client: OAuthClient,
  server: SlackServer,
  now: () => number = Date.now,
): Installations {
  const { stateSecret, allowed } = client;
  const box = createBox(stateSecret);
  const read = async (teamId: string): Promise<Stored | undefined> => {
    const sealed = allowed.includes(teamId) ? await redis.hget(key, teamId) : null;
    return sealed === null ? undefined : parseInstallation(box.open(sealed, teamId), teamId);
  };
  const write = (teamId: string, content: Stored) =>
    redis.hset(key, teamId, box.seal(JSON.stringify(content), teamId));

  /** Renews the token where it expires soon: one process does, all others continue with this one. */
  const renew = async (teamId: string, stored: Stored): Promise<Stored> => {
    if (!stored.rotation || !isExpiring(stored.rotation, now())) return stored;
    // If Redis were full the next token would be lost, and this one is valid until it expires.
    const lock = redis.set(renewingKey(teamId), "1", "EX", renewingSeconds, "NX").catch(() => null);
    if ((await lock) === null) return stored;
    // Another process may have been done just before.
    const latest = await read(teamId);
    if (!latest?.rotation || !isExpiring(latest.rotation, now())) return latest ?? stored;
    try {
      const next = { ...latest, ...(await fetchNextToken(client, server, latest.rotation, now())) };
      await write(teamId, next);
      return next;
    } catch (error) {
      const end = new Date(latest.rotation.expiresAt).toISOString();
      server.log.warn(
        { err: error },
        `The Slack token of ${teamId} could not be renewed and ends at ${end}: if this goes on, install the app there again at ${installPath}.`,
      );
      return latest;
    }
  };

  const find = async (id: string): Promise<Stored | undefined> => {
    const stored = await read(id);
    return stored && renew(id, stored);
  };
  const organisationTeams = createOrganisationTeams(now);
  const teamsOf = (organisation: string, { botToken }: Stored, mustHave?: string) =>
    organisationTeams.teamsOf(
      organisation,
      () => createWebClient({ ...server, botToken }, { timeoutMs: 5_000, retries: 0 }),
      mustHave,
    );
  const organisations = allowed.filter(isOrganisation);
  /** Teams are listed every few seconds. */
  const warned = new Set<string>();
  const warnOnce = (organisation: string, error: unknown): undefined => {
    if (warned.has(organisation)) return;
    warned.add(organisation);
    const why = error instanceof Error ? error.message : String(error);
    server.log.warn(`The workspaces of the Slack organisation ${organisation} are not known: ${why}`);
  };

  return {
    async find(teamId) {
      if (isOrganisation(teamId)) return undefined;
      const own = await find(teamId);
      if (own) return toInstallation(teamId, own);
      for (const organisation of organisations) {
        const stored = await find(organisation);
        if (stored && (await teamsOf(organisation, stored, teamId)).has(teamId))
          return toInstallation(teamId, stored);
      }
      return undefined;
    },
    async all() {
      const ids = (await redis.hkeys(key)).filter((id) => allowed.includes(id));
      const teams = new Set(ids.filter((id) => !isOrganisation(id)));
      for (const organisation of ids.filter(isOrganisation)) {
        // One that cannot be read, or that Slack does not tell about now, keeps nobody else from being served.
        const found = await find(organisation)
          .then((stored) => stored && teamsOf(organisation, stored))
          .catch((error: unknown) => warnOnce(organisation, error));
        for (const team of found ?? []) teams.add(team);
      }
      return [...teams];
    },
    async tokenOf(id) {
      return (await find(id))?.botToken;
    },
    async remove(id) {
      organisationTeams.forget(id);
      await redis.hdel(key, id);
    },
    store: createStore(allowed, write),
  };
}

/** Stores what the SDK has been granted. @param write with the id of the team or organisation */
function createStore(
  allowed: readonly string[],
  write: (id: string, content: Stored) => Promise<unknown>,
): InstallationStore {
  return {
    async storeInstallation({ team, enterprise, bot, isEnterpriseInstall }) {
      const installed = isEnterpriseInstall ? enterprise : team;
      if (!installed || !bot)
        throw new InstallationRefused("Slack has not said what the app was installed for.");
      if (!allowed.includes(installed.id)) {
        const what = isEnterpriseInstall ? "organisation" : "workspace";
        throw new InstallationRefused(
          `The ${what} ${installed.id} may not install this app: ask whoever runs it to add ${installed.id} to slack.workspaces in heddle.yaml.`,
        );
      }
      const { token: botToken, id: botId, userId: botUserId, refreshToken, expiresAt } = bot;
      const rotation = refreshToken !== undefined &&
        // The SDK counts seconds.
        expiresAt !== undefined && { rotation: { refreshToken, expiresAt: expiresAt * 1_000 } };
      await write(installed.id, { botToken, botId, botUserId, ...rotation });
    },
    // The SDK reads only through us.
    async fetchInstallation() {
      throw new Error("Installations are found by workspace.");
    },
  };
}

/** Slack's ids of organisations begin with E, those of workspaces with T. */
function isOrganisation(id: string): boolean {
  return id.startsWith("E");
}

function toInstallation(teamId: string, { botToken, botId, botUserId }: Stored): Installation {
  return { botToken, identity: { teamId, botId, botUserId } };
}

/** @throws UnreadableInstallation */
function parseInstallation(json: string, teamId: string): Stored {
  const parsed = readInstallation(json);
  if (parsed.ok) return parsed.value;
  throw new UnreadableInstallation(
    `The Slack installation of ${teamId} cannot be read (${parsed.why}); it is kept. Upgrade this Heddle if a later one has written it, or install the app there again.`,
  );
}

/** Says what to do where a text does not open. */
function createBox(secret: string): SealedBox {
  const box = createSealedBox(secret, "heddle slack installations");
  return {
    seal: box.seal,
    /** @throws UnreadableInstallation */
    open(sealed, owner) {
      try {
        return box.open(sealed, owner);
      } catch (error) {
        throw new UnreadableInstallation(
          `The Slack installation of ${owner} cannot be read with this SLACK_STATE_SECRET: set the one it was stored with, or install the app there again.`,
          { cause: error },
        );
      }
    },
  };
}
