import type { REST } from "discord.js";
import type { BaseLogger } from "pino";
import type { Author, InboundEvent, IntakeResult } from "../../../chat/inbound.ts";
import type { OfferedPrompt } from "../../../chat/prompt-choice.ts";
import type { ThreadRef } from "../../../chat/threads.ts";
import type { Channels } from "../connection/channels.ts";
import type { People } from "../connection/people.ts";
import type { Identity } from "../inbound/events.ts";

/** What `/agent` suggests. */
export interface Choices {
  models: readonly string[];
  skills: readonly string[];
  prompts: readonly OfferedPrompt[];
}

export interface InteractionOptions {
  rest: REST;
  identity: Identity;
  channels: Channels;
  people: People;
  /** Whether messages without a mention can be read. */
  messageContent: boolean;
  mayAsk(workspace: string, author: Author): boolean;
  choices(place: ThreadRef, author: Author): Promise<Choices>;
  receive(event: InboundEvent): Promise<IntakeResult>;
  log: BaseLogger;
}
