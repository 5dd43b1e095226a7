import { DiscordAPIError, HTTPError, RateLimitError } from "discord.js";
import { SurfaceError, type SurfaceErrorKind } from "../../../chat/surface.ts";
import { isUnsent } from "../../../chat/unsent.ts";
import { refusalCode } from "../connection/rest.ts";

/**
 * What Discord's codes mean to a caller that wants to write; a code that is not listed is `rejected`.
 * https://docs.discord.com/developers/topics/opcodes-and-status-codes#json
 */
const kinds: Record<number, { kind: SurfaceErrorKind; why: string }> = {
  10003: { kind: "gone", why: "the channel or thread no longer exists" },
  10004: { kind: "gone", why: "the bot is no longer in that server" },
  10008: { kind: "gone", why: "the message no longer exists" },
  50083: { kind: "gone", why: "the thread is archived" },

  20016: { kind: "rate-limited", why: "the channel is in slow mode; give the bot Bypass Slowmode" },
  20028: { kind: "rate-limited", why: "the channel is written to too fast" },
  20029: { kind: "rate-limited", why: "the server is written to too fast" },
  30046: { kind: "rate-limited", why: "messages older than an hour take few edits" },
  130_000: { kind: "rate-limited", why: "Discord is overloaded" },

  50001: { kind: "forbidden", why: "the bot may not see that channel" },
  50007: { kind: "forbidden", why: "that person takes no direct messages of the bot" },
  50013: { kind: "forbidden", why: "the bot lacks a permission" },
  90001: { kind: "forbidden", why: "the author of the message has blocked the bot" },
  160_005: { kind: "forbidden", why: "the thread is locked; a moderator can unlock it" },
  160_006: { kind: "forbidden", why: "the server has too many active threads; archive some of them" },

  30010: { kind: "rejected", why: "the message has 20 different reactions already" },
  40005: { kind: "rejected", why: "the file is larger than the server allows" },
};

/** A moderator may unlock it at any time. */
const locked = 160_005;

/** An archived thread that only a moderator may open again, for which Discord says that a permission is missing. */
export function lockedThread(what: string, cause: unknown): SurfaceError {
  const message = `Discord refuses ${what}: the thread is archived and locked; a moderator can unlock it.`;
  return new SurfaceError("forbidden", message, { isLiftable: true, cause });
}

const defaultRetryMs = 1_000;

/** @param what the action, to follow “Discord refuses …”: `posting` */
export function toSurfaceError(what: string, cause: unknown): SurfaceError {
  if (cause instanceof SurfaceError) return cause;
  if (cause instanceof RateLimitError) return toRateLimited(what, cause.retryAfter || defaultRetryMs, cause);
  const code = refusalCode(cause);
  if (cause instanceof DiscordAPIError && code !== undefined) return toRefusal(what, code, cause);
  if (cause instanceof HTTPError && cause.status < 500) {
    return new SurfaceError("rejected", `Discord rejects ${what} (HTTP ${cause.status}).`, { cause });
  }
  if (isUnsent(cause)) {
    // Nothing was done and it can be done later: for the caller that is what a rate limit is.
    const message = `Discord cannot be reached for ${what}; Heddle will retry.`;
    return new SurfaceError("rate-limited", message, { retryAfterMs: defaultRetryMs, cause });
  }
  return new SurfaceError("uncertain", `Discord did not confirm ${what}; it may have been done.`, { cause });
}

function toRefusal(what: string, code: number, cause: DiscordAPIError): SurfaceError {
  if (cause.status === 401) {
    const message = `Discord refuses ${what}: DISCORD_TOKEN is no longer valid, make a new one under Bot.`;
    return new SurfaceError("forbidden", message, { cause });
  }
  const { kind, why } = kinds[code] ?? { kind: "rejected", why: cause.message };
  if (kind === "rate-limited") return toRateLimited(`${what} (${why})`, retryAfter(cause), cause);
  return new SurfaceError(kind, `Discord refuses ${what}: ${why} (${code}).`, {
    isLiftable: code === locked,
    cause,
  });
}

function toRateLimited(what: string, retryAfterMs: number, cause: unknown): SurfaceError {
  const message = `Discord limits the rate of ${what}; wait ${retryAfterMs} ms.`;
  return new SurfaceError("rate-limited", message, { retryAfterMs, cause });
}

/** Discord says it in seconds. */
function retryAfter({ rawError }: DiscordAPIError): number {
  const seconds = "retry_after" in rawError ? Number(rawError.retry_after) : Number.NaN;
  return Number.isFinite(seconds) ? seconds * 1_000 : defaultRetryMs;
}
