import { type Logger, pino } from "pino";
import type { Masker } from "../agent/secrets/masker.ts";

export type { Logger } from "pino";

/**
 * The program's log: JSON lines on standard error, or plain lines where that is a terminal. Every line is
 * masked as a whole, so that no secret leaves through an error's text or a header that somebody attached.
 */
export function createLog(level: string, masker: Masker, options: { terminal: boolean }): Logger {
  const write = (line: string) => {
    process.stderr.write(masker.mask(options.terminal ? plain(line) : line));
  };
  const serializers = { err: describeError };
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers }, { write });
}

/**
 * What an error says, with its causes, and no more: clients hang their whole request on it, which holds what people
 * wrote and tokens that no masker knows, such as those of Discord's interactions.
 */
function describeError(error: unknown) {
  if (!(error instanceof Error)) return { message: String(error) };
  const { type, message, stack } = pino.stdSerializers.err(error);
  const code = "code" in error && ["string", "number"].includes(typeof error.code) ? error.code : undefined;
  return { type, message, stack, code };
}

const levels: Record<number, string> = {
  10: "trace",
  20: "debug",
  30: "info",
  40: "warn",
  50: "error",
  60: "fatal",
};

function plain(line: string): string {
  const entry = JSON.parse(line) as { level: number; time: string; msg?: string; err?: { message?: string } };
  const { level, time, msg, err, ...rest } = entry;
  const more = Object.keys(rest).length > 0 ? ` ${JSON.stringify(rest)}` : "";
  const cause = err?.message ? `: ${err.message}` : "";
  // Names and errors hold what strangers wrote, and a terminal obeys what it is sent.
  const shown = `${msg ?? ""}${cause}${more}`.replaceAll(/\p{Cc}+/gu, " ");
  return `${time.slice(11, 19)} ${(levels[level] ?? "").padEnd(5)} ${shown}\n`;
}
