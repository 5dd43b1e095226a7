import { DiscordAPIError, REST, type RESTOptions, Routes } from "discord.js";
import type { BaseLogger } from "pino";
import { z } from "zod";
import type { RequestLimit } from "../../../chat/request-limit.ts";
import { shareGlobalLimit } from "./global-limit.ts";

/** What every part of the adapter needs to call Discord. */
export interface DiscordAccess {
  token: string;
  /** Another address of the API without the version, for emulators and proxies. Default: Discord's own. */
  apiUrl?: string;
  /** What all processes may ask of Discord together. Absent: this process counts for itself. */
  requests?: RequestLimit;
  log: BaseLogger;
}

/**
 * The library's client would forget its token with the first 401, and fail from then on without asking. Discord gives 401
 * for other reasons than a bad token too (https://github.com/discordjs/discord.js/issues/7492).
 */
class TokenKeepingRest extends REST {
  override setToken(token: string | null): this {
    return token === null ? this : super.setToken(token);
  }
}

/**
 * A client of the REST API. Unless it is `patient`, it reports a rate limit instead of waiting, and never retries: the
 * caller decides about both.
 */
export function createRest(
  access: Pick<DiscordAccess, "token" | "apiUrl" | "requests">,
  { timeoutMs, patient = false }: { timeoutMs: number; patient?: boolean },
): REST {
  return new TokenKeepingRest(restOptions(access, { timeoutMs, patient })).setToken(access.token);
}

export function restOptions(
  { token, apiUrl, requests }: Pick<DiscordAccess, "token" | "apiUrl" | "requests">,
  { timeoutMs, patient }: { timeoutMs: number; patient: boolean },
): Partial<RESTOptions> {
  return {
    timeout: timeoutMs,
    // The client's own undici fails on files as soon as another version of undici is loaded.
    makeRequest: shareGlobalLimit(
      `${token} ${apiUrl}`,
      fetch as unknown as RESTOptions["makeRequest"], // The same, by the types of that undici.
      requests,
    ),
    ...(patient ? { retries: 3 } : { retries: 0, rejectOnRateLimit: () => true }),
    ...(apiUrl !== undefined && { api: apiUrl.replace(/\/+$/, "") }),
  };
}

/** Discord's code of a refusal (for example 10003), if the error is one. What something on the way refuses has none. */
export function refusalCode(error: unknown): number | undefined {
  const code = error instanceof DiscordAPIError ? Number(error.code) : Number.NaN;
  return Number.isNaN(code) ? undefined : code;
}

const ids = new WeakMap<REST, Promise<string>>();

/** The id of the bot itself. */
export function fetchOwnId(rest: REST): Promise<string> {
  const known = ids.get(rest);
  if (known) return known;
  const request = rest.get(Routes.user("@me")).then((user) => z.object({ id: z.string() }).parse(user).id);
  ids.set(rest, request);
  request.catch(() => ids.delete(rest));
  return request;
}
