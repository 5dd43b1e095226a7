import { type Logger, LogLevel, WebAPIPlatformError, WebClient } from "@slack/web-api";
import type { BaseLogger } from "pino";
import type { MessageMark } from "../../../chat/outbound.ts";
import type { RequestLimit } from "../../../chat/request-limit.ts";

/** Where Slack is. */
export interface SlackServer {
  /** Another address of the Web API, for emulators and proxies. Default: Slack's own. */
  apiUrl?: string;
  /** Reactions that show the state of a message, to use instead of the usual ones; "" for none. */
  marks?: Partial<Record<MessageMark, string>>;
  /** How many streams a team may start, over all processes; see `startLimit`. Absent: each process counts its own. */
  streamStarts?(team: string): RequestLimit;
  log: BaseLogger;
}

/** What every part of the adapter needs to call Slack on behalf of one team. */
export interface SlackAccess extends SlackServer {
  /** `xoxb-…` */
  botToken: string;
}

interface WebClientSettings {
  timeoutMs: number;
  retries?: number;
  patient?: boolean;
  /** Sends its requests. Default: the one of Node. */
  fetch?: typeof fetch;
}

/**
 * A client of the Web API. Unless it is `patient`, it reports a rate limit instead of waiting, because the SDK would hold
 * back every other call of the client as well.
 */
export function createWebClient(
  access: SlackAccess,
  { timeoutMs, retries = 0, patient = false, ...own }: WebClientSettings,
): WebClient {
  return new WebClient(access.botToken, {
    ...clientOptions(access),
    timeout: timeoutMs,
    rejectRateLimitedCalls: !patient,
    retryConfig: { retries, minTimeout: 200 },
    ...own,
  });
}

/** The options that the SDK's own clients share with ours. */
export function clientOptions({ apiUrl, log }: SlackServer): { slackApiUrl?: string; logger: Logger } {
  return { ...(apiUrl === undefined ? {} : { slackApiUrl: apiUrl }), logger: sdkLogger(log) };
}

/** Our log in the SDK's shape. The SDK's debug lines contain whole messages of people, so they are dropped. */
function sdkLogger(log: BaseLogger): Logger {
  return {
    debug: () => undefined,
    info: (...message: unknown[]) => log.debug(message.join(" ")),
    warn: (...message: unknown[]) => log.warn(message.join(" ")),
    error: (...message: unknown[]) => log.warn(message.join(" ")),
    setLevel: () => undefined,
    getLevel: () => LogLevel.INFO,
    setName: () => undefined,
  };
}

/**
 * Codes by which Slack says that it has failed, of which it may be itself again at the next call: "it's possible some
 * aspect of the operation succeeded before the error was raised". https://docs.slack.dev/reference/methods/chat.postMessage#errors
 */
const failures = new Set(["fatal_error", "internal_error", "request_timeout", "service_unavailable"]);

/**
 * Slack's own code of a refusal (`channel_not_found`), if it was one. Where something on the way answers in its place, the
 * SDK takes whatever that says for the code.
 */
export function refusalCode(error: unknown): string | undefined {
  const code = error instanceof WebAPIPlatformError ? error.data.error : undefined;
  return code !== undefined && /^\w+$/.test(code) && !failures.has(code) ? code : undefined;
}
