import type { WebClient } from "@slack/web-api";
import { createEventReader, type EventReader, type Identity } from "../inbound/events.ts";
import { createPeople, type People } from "../inbound/people.ts";
import { createWebClient, refusalCode, type SlackAccess } from "./web.ts";

/** What is needed to receive people of one workspace. */
export interface Desk {
  botToken: string;
  identity: Identity;
  people: People;
  reader: EventReader;
  client: WebClient;
  /** Tells one person something that nobody else sees. It is a courtesy: a failure is only logged. */
  whisper(to: { user: string; channel: string; thread: string }, text: string): Promise<void>;
}

/** Slack waits three seconds for us. What is only read may be asked for again. */
export function createReceivingClient(access: SlackAccess, retries: 0 | 2): WebClient {
  return createWebClient(access, { timeoutMs: 5_000, retries });
}

/** The app is not installed in a workspace, or not allowed there. */
export class NotInstalled extends Error {}

/** The desk of a workspace. @throws NotInstalled */
export type DeskOf = (teamId: string | undefined) => Promise<Desk>;

/** @param stopReactions names of the reactions that stop a turn, without colons */
export function createDesk(access: SlackAccess, identity: Identity, stopReactions: readonly string[]): Desk {
  const { botToken, log } = access;
  const client = createReceivingClient(access, 0);
  const people = createPeople(createReceivingClient(access, 2), identity.teamId, log);
  return {
    botToken,
    identity,
    people,
    reader: createEventReader(identity, people, stopReactions),
    client,
    async whisper({ user, channel, thread }, text) {
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
