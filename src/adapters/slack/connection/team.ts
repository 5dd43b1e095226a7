import type { WebClient } from "@slack/web-api";
import { createEventReader, type EventReader, type Identity, type ReaderRules } from "../inbound/events.ts";
import { createPeople, type People } from "../inbound/people.ts";
import { createWebClient, refusalCode, type SlackAccess } from "./web.ts";

/** What is needed to receive events from one team. */
export interface TeamConnection {
  botToken: string;
  identity: Identity;
  people: People;
  reader: EventReader;
  client: WebClient;
  /**
   * Shows one person something that nobody else sees. It is a courtesy: a failure is only logged.
   *
   * @param to.thread one that has replies: in any other Slack shows it to nobody, and in the channel it is seen
   * (https://docs.slack.dev/reference/methods/chat.postEphemeral)
   */
  postEphemeral(
    to: { user: string; channel: string; thread: string | undefined },
    text: string,
  ): Promise<void>;
}

/** Slack waits three seconds for us. Only reads may be retried. */
export function createReceivingClient(access: SlackAccess, retries: 0 | 2): WebClient {
  return createWebClient(access, { timeoutMs: 5_000, retries });
}

/** The app is not installed in a team, or not allowed there. */
export class NotInstalled extends Error {}

/** Finds the connection of a team. @throws NotInstalled */
export type ConnectionOf = (teamId: string | undefined) => Promise<TeamConnection>;

export function createTeamConnection(
  access: SlackAccess,
  identity: Identity,
  rules: ReaderRules,
): TeamConnection {
  const { botToken, log } = access;
  const client = createReceivingClient(access, 0);
  const people = createPeople(createReceivingClient(access, 2), identity.teamId, log);
  return {
    botToken,
    identity,
    people,
    reader: createEventReader(identity, people, rules),
    client,
    async postEphemeral({ user, channel, thread }, text) {
      try {
        const place = thread === undefined ? { channel } : { channel, thread_ts: thread };
        await client.chat.postEphemeral({ ...place, user, text });
      } catch (error) {
        log.warn(
          `Slack did not deliver a private reply that says why something was refused (${refusalCode(error) ?? "no answer"}).`,
        );
      }
    },
  };
}
