import { WebAPIPlatformError, WebAPIRateLimitedError } from "@slack/web-api";
import { SurfaceError, type SurfaceErrorKind, type WriteLane } from "../../../chat/surface.ts";
import { isUnsent } from "../../../chat/unsent.ts";
import { refusalCode } from "../connection/web.ts";

/** What Slack's codes mean to a caller that wants to write; a code that is not listed is `rejected`. */
const kinds: Record<string, Exclude<SurfaceErrorKind, "uncertain">> = {
  ratelimited: "rate-limited",
  rate_limited: "rate-limited",

  channel_not_found: "gone",
  is_archived: "gone",
  message_not_found: "gone",
  thread_not_found: "gone",

  access_denied: "forbidden",
  account_inactive: "forbidden",
  ekm_access_denied: "forbidden",
  invalid_auth: "forbidden",
  missing_scope: "forbidden",
  no_permission: "forbidden",
  not_authed: "forbidden",
  not_in_channel: "forbidden",
  restricted_action: "forbidden",
  restricted_action_read_only_channel: "forbidden",
  restricted_action_thread_locked: "forbidden",
  restricted_action_thread_only_channel: "forbidden",
  team_access_not_granted: "forbidden",
  token_expired: "forbidden",
  token_revoked: "forbidden",
};

/** The bot is not in the channel; a private one that it has left does not exist for it. */
const uninvited = new Set(["not_in_channel", "channel_not_found"]);

const defaultRetryMs = 1_000;

/** The writes that a limit of a method concerns; methods that are not listed limit no write. */
const lanes: Record<string, WriteLane> = {
  "chat.appendStream": "appends",
  "chat.postMessage": "messages",
  "chat.update": "edits",
  "reactions.add": "marks",
  "reactions.get": "marks",
  "reactions.remove": "marks",
};

/** Turns the failure of a call into an error of the contract. */
export function toSurfaceError(method: string, cause: unknown): SurfaceError {
  if (cause instanceof SurfaceError) return cause;
  if (cause instanceof WebAPIRateLimitedError) return toRateLimited(method, cause.retryAfter, cause);
  const code = refusalCode(cause);
  if (cause instanceof WebAPIPlatformError && code !== undefined) return toRefusal(method, code, cause);
  if (isUnsent(cause)) {
    // Nothing was done and it can be done later: for the caller that is what a rate limit is.
    return new SurfaceError("rate-limited", `Slack cannot be reached for ${method}; Heddle will retry.`, {
      retryAfterMs: defaultRetryMs,
      cause,
    });
  }
  return new SurfaceError(
    "uncertain",
    `Slack did not confirm ${method}; look into the thread before repeating it.`,
    {
      cause,
    },
  );
}

function toRefusal(method: string, code: string, cause: WebAPIPlatformError): SurfaceError {
  const kind = kinds[code] ?? "rejected";
  switch (kind) {
    case "rate-limited":
      return toRateLimited(method, cause.data.response_metadata?.retryAfter, cause);
    case "gone":
      return new SurfaceError(kind, `The place of ${method} no longer exists in Slack (${code}).`, {
        isLiftable: uninvited.has(code),
        cause,
      });
    case "forbidden":
      return new SurfaceError(kind, `Slack forbids ${method} (${code}): ${explainRemedy(cause)}`, {
        isLiftable: uninvited.has(code),
        cause,
      });
    case "rejected":
      break;
  }
  const details = cause.data.response_metadata?.messages?.join("; ");
  return new SurfaceError(kind, `Slack rejected ${method} (${code})${details ? `: ${details}` : ""}.`, {
    cause,
  });
}

function toRateLimited(method: string, seconds: number | undefined, cause: unknown): SurfaceError {
  const retryAfterMs = seconds === undefined ? defaultRetryMs : seconds * 1_000;
  const message = `Slack limits the rate of ${method}; wait ${retryAfterMs} ms.`;
  const lane = lanes[method];
  return new SurfaceError("rate-limited", message, { retryAfterMs, limits: lane ? [lane] : [], cause });
}

function explainRemedy(error: WebAPIPlatformError): string {
  switch (error.data.error) {
    case "not_in_channel":
      return "the bot is not in the channel, invite it there.";
    case "missing_scope":
      return `the scope ${readNeededScope(error)} is missing, add it to the app and install the app again.`;
    default:
      return "check the bot token and the rights of the app in the workspace.";
  }
}

/** The scope that a `missing_scope` refusal names. */
export function readNeededScope({ data }: WebAPIPlatformError): string {
  return "needed" in data && typeof data.needed === "string" ? data.needed : "that it needs";
}

/** The third is about two tables in one message, which the documentation does not rule out for Markdown. */
const refusedLayouts = new Set([
  "invalid_blocks",
  "invalid_blocks_format",
  "invalid_attachments",
  "msg_blocks_too_long",
]);

/** Whether Slack refused how a message is laid out, not that it is posted. */
export function refusesLayout(error: unknown): boolean {
  return refusedLayouts.has(readCode(error));
}

const tooLong = new Set(["msg_too_long", "msg_blocks_too_long"]);

/** Whether Slack refused a message because it is too long. */
export function refusesLength(error: unknown): boolean {
  return tooLong.has(readCode(error));
}

/**
 * Whether Slack refuses to edit or to delete a message because it grows.
 * https://docs.slack.dev/reference/methods/chat.update
 */
export function refusesGrowing(error: unknown): boolean {
  return ["streaming_state_conflict", "cant_delete_message"].includes(readCode(error));
}

function readCode(error: unknown): string {
  return refusalCode(error instanceof SurfaceError ? error.cause : error) ?? "";
}
