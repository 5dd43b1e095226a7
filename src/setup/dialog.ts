/** Names a question, also in a file of answers. */
export type QuestionId =
  | "model"
  | "model.key"
  | "model.name"
  | "model.next"
  | "slack"
  | "slack.configurationToken"
  | "slack.botToken"
  | "slack.appToken"
  | "slack.next"
  | "discord"
  | "discord.token"
  | "discord.messageContent"
  | "discord.invited"
  | "discord.server"
  | "discord.next"
  | "listen"
  | "administrator";

export interface Choice {
  value: string;
  label: string;
}

/**
 * How a step talks with a person: a terminal, or a file with answers where nobody sits at one. A step asks the same
 * questions either way.
 */
export interface Dialog {
  say(text: string): void;
  /** One line; "" when the person leaves the question, or there is no answer. `secret`: it is never shown. */
  ask(id: QuestionId, text: string, options?: { secret?: boolean; standard?: string }): Promise<string>;
  /** The value of one of the choices. `standard`: what Enter alone means. `unanswered`: what counts where nobody is asked. */
  choose(
    id: QuestionId,
    text: string,
    choices: readonly Choice[],
    options: { standard: string; unanswered: string },
  ): Promise<string>;
  /** What was typed before the question does not count. Enter alone, or no answer, is no. */
  confirm(id: QuestionId, text: string): Promise<boolean>;
  /** Puts a text into the clipboard, where that is possible. */
  copy(text: string): void;
}

/** The person has ended the set-up. What was stored before stays. */
export class SetupCancelled extends Error {
  override readonly name = "SetupCancelled";
}

/** A step that cannot go on without a person. The message is a sentence. */
export class StepFailed extends Error {
  override readonly name = "StepFailed";
}

/** What may be shown of a secret. */
export function describeSecret(secret: string): string {
  return secret.length > 12 ? `…${secret.slice(-4)}` : "…";
}
