/** Figures in words, as the English text around them and the dollars beside them have numbers. */
import type { Figures } from "../../../operations/reports.ts";

export function formatCost(dollars: number, unknown = false): string {
  // Single calls cost fractions of a cent.
  const amount = dollars.toFixed(dollars < 0.1 ? 4 : 2).replace(/(\.\d\d\d*?)0+$/, "$1");
  return `${unknown ? "≤ " : ""}$${amount}`;
}

export function formatCount(number: number): string {
  return Math.round(number).toLocaleString("en-US");
}

/** Short, for the narrow places: 12,345 becomes 12.3k. */
export function formatShort(number: number): string {
  const format = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
  return format.format(number).replace("K", "k");
}

export function formatDuration(ms: number): string {
  // What would be rounded up to the next unit is written in it.
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function sumTokens({ input, output, cacheRead, cacheWrite }: Figures): number {
  return input + output + cacheRead + cacheWrite;
}

/** "1 turn", "2 turns". */
export function pluralize(number: number, one: string, many = `${one}s`): string {
  return `${formatCount(number)} ${number === 1 ? one : many}`;
}
