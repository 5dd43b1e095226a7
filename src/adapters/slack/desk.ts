import type { webApi } from "@slack/bolt";
import type { BaseLogger } from "pino";
import { refusalCode } from "./web.ts";
import { createEventReader, type EventReader, type Identity } from "./events.ts";
import { createPeople, type People } from "./people.ts";

/** What is needed to receive people of one workspace. */
export interface Desk {
  identity: Identity;
  people: People;
  reader: EventReader;
  client: webApi.WebClient;
  /** Tells one person something that nobody else sees. It is a courtesy: a failure is only logged. */
  whisper(to: { user: string; channel: string; thread: string }, text: string): Promise<void>;
}

/** @param stopReactions names of the reactions that stop a turn, without colons */
export function createDesk(
  client: webApi.WebClient,
  identity: Identity,
  stopReactions: readonly string[],
  log: BaseLogger,
): Desk {
  const people = createPeople(client, identity.teamId, log);
  return {
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
