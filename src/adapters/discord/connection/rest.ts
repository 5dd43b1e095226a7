import { DiscordAPIError, REST, type RESTOptions, Routes } from "discord.js";
import type { BaseLogger } from "pino";
import { z } from "zod";

/** What every part of the adapter needs to call Discord. */
export interface DiscordAccess {
  token: string;
  /** Another address of the API without the version, for emulators and proxies. Default: Discord's own. */
  apiUrl?: string;
  log: BaseLogger;
}

/**
 * A client of the REST API. Unless it is `patient`, it reports a rate limit instead of sitting it out and never
 * repeats a call: whoever wants to write decides about both.
 */
export function createRest(
  access: Pick<DiscordAccess, "token" | "apiUrl">,
  { timeoutMs, patient = false }: { timeoutMs: number; patient?: boolean },
): REST {
  return new REST(restOptions(access, { timeoutMs, patient })).setToken(access.token);
}

export function restOptions(
  { apiUrl }: Pick<DiscordAccess, "apiUrl">,
  { timeoutMs, patient }: { timeoutMs: number; patient: boolean },
): Partial<RESTOptions> {
  return {
    timeout: timeoutMs,
    // The client's own way is an undici that fails on files as soon as another version of it is loaded.
    makeRequest: fetch as unknown as RESTOptions["makeRequest"], // The same, by the types of that undici.
    ...(patient ? { retries: 3 } : { retries: 0, rejectOnRateLimit: () => true }),
    ...(apiUrl !== undefined && { api: apiUrl.replace(/\/+$/, "") }),
  };
}

/** Discord's own code of a refusal (10003), if it was one. */
export function refusalCode(error: unknown): number | undefined {
  return error instanceof DiscordAPIError ? Number(error.code) : undefined;
}

const ids = new WeakMap<REST, Promise<string>>();

/** The id of the bot itself. */
export function fetchOwnId(rest: REST): Promise<string> {
  const known = ids.get(rest);
  if (known) return known;
  const asked = rest.get(Routes.user("@me")).then((user) => z.object({ id: z.string() }).parse(user).id);
  ids.set(rest, asked);
  asked.catch(() => ids.delete(rest));
  return asked;
}
