import type { REST } from "discord.js";
import type { BaseLogger } from "pino";
import type { Author, InboundEvent, IntakeResult } from "../../../chat/inbound.ts";
import type { TaskChoices } from "../../../chat/task-choices.ts";
import type { ThreadRef } from "../../../chat/threads.ts";
import type { Channels } from "../connection/channels.ts";
import type { People } from "../connection/people.ts";
import type { Identity } from "../inbound/events.ts";

export interface InteractionOptions {
  rest: REST;
  identity: Identity;
  channels: Channels;
  people: People;
  /** Whether messages without a mention can be read. */
  messageContent: boolean;
  mayAsk(workspace: string, author: Author): boolean;
  /** What `/agent` suggests, and takes. */
  choices(place: ThreadRef, author: Author): Promise<TaskChoices>;
  receive(event: InboundEvent): Promise<IntakeResult>;
  log: BaseLogger;
}
