import type { WebClient } from "@slack/web-api";
import { createEventReader, type EventReader, type Identity } from "../inbound/events.ts";
import { createPeople, type People } from "../inbound/people.ts";
import { createWebClient, refusalCode, type SlackAccess } from "./web.ts";

/** What is needed to receive people of one workspace. */
export interface TeamConnection {
  botToken: string;
  identity: Identity;
  people: People;
  reader: EventReader;
  client: WebClient;
  /** Tells one person something that nobody else sees. It is a courtesy: a failure is only logged. */
  postEphemeral(to: { user: string; channel: string; thread: string }, text: string): Promise<void>;
}

/** Slack waits three seconds for us. What is only read may be asked for again. */
export function createReceivingClient(access: SlackAccess, retries: 0 | 2): WebClient {
  return createWebClient(access, { timeoutMs: 5_000, retries });
}

/** The app is not installed in a workspace, or not allowed there. */
export class NotInstalled extends Error {}

/** The connection of a workspace. @throws NotInstalled */
export type ConnectionOf = (teamId: string | undefined) => Promise<TeamConnection>;

/** @param stopReactions names of the reactions that stop a turn, without colons */
export function createTeamConnection(
  access: SlackAccess,
  identity: Identity,
  stopReactions: readonly string[],
): TeamConnection {
  const { botToken, log } = access;
  const client = createReceivingClient(access, 0);
  const people = createPeople(createReceivingClient(access, 2), identity.teamId, log);
  return {
    botToken,
    identity,
    people,
    reader: createEventReader(identity, people, stopReactions),
    client,
    async postEphemeral({ user, channel, thread }, text) {
      try {
        await client.chat.postEphemeral({ channel, user, thread_ts: thread, text });
      } catch (error) {
        log.warn(
          `Slack did not show somebody why a button did nothing (${refusalCode(error) ?? "no answer"}).`,
        );
      }
    },
  };
}
