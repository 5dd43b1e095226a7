/** Discord's way to say no: an HTTP status, a code of its own, and a sentence. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: number;
  readonly details: Record<string, unknown>;

  constructor(status: number, code: number, message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** https://docs.discord.com/developers/topics/opcodes-and-status-codes#json */
export const refusals = {
  unauthorized: () => new Refusal(401, 0, "401: Unauthorized"),
  unknownRoute: () => new Refusal(404, 0, "404: Not Found"),
  unknownChannel: () => new Refusal(404, 10_003, "Unknown Channel"),
  unknownGuild: () => new Refusal(404, 10_004, "Unknown Guild"),
  unknownMember: () => new Refusal(404, 10_007, "Unknown Member"),
  unknownMessage: () => new Refusal(404, 10_008, "Unknown Message"),
  unknownUser: () => new Refusal(404, 10_013, "Unknown User"),
  unknownEmoji: () => new Refusal(400, 10_014, "Unknown Emoji"),
  unknownWebhook: () => new Refusal(404, 10_015, "Unknown Webhook"),
  unknownInteraction: () => new Refusal(404, 10_062, "Unknown interaction"),
  acknowledged: () => new Refusal(400, 40_060, "Interaction has already been acknowledged."),
  tooLarge: () => new Refusal(413, 40_005, "Request entity too large"),
  missingAccess: () => new Refusal(403, 50_001, "Missing Access"),
  noMessages: () => new Refusal(400, 50_008, "Cannot send messages in a non-text channel"),
  needsTag: () => new Refusal(400, 40_067, "A tag is required to create a forum post in this channel"),
  otherAuthor: () => new Refusal(403, 50_005, "Cannot edit a message authored by another user"),
  empty: () => new Refusal(400, 50_006, "Cannot send an empty message"),
  notToUser: () => new Refusal(403, 50_007, "Cannot send messages to this user"),
  wrongChannel: () => new Refusal(400, 50_024, "Cannot execute action on this channel type"),
  missingPermissions: () => new Refusal(403, 50_013, "Missing Permissions"),
  invalidWebhookToken: () => new Refusal(401, 50_027, "Invalid Webhook Token"),
  archived: () => new Refusal(400, 50_083, "Thread is archived"),
  hasThread: () => new Refusal(400, 160_004, "A thread has already been created for this message"),
  locked: () => new Refusal(400, 160_005, "Thread is locked"),
  tooManyReactions: () => new Refusal(403, 30_010, "Maximum number of reactions reached (20)"),
  cannotReply: () => new Refusal(400, 160_002, "Cannot reply without permission to read message history"),
  invalidJson: () => new Refusal(400, 50_109, "The request body contains invalid JSON."),
  /** With how many seconds to wait. */
  oldEdits: (retry_after: number) =>
    new Refusal(
      429,
      30_046,
      "Maximum number of edits to messages older than 1 hour reached. Try again later.",
      {
        retry_after,
        global: false,
      },
    ),
  invalidForm: (errors: unknown) => new Refusal(400, 50_035, "Invalid Form Body", { errors }),
};
