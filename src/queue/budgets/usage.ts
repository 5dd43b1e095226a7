import type { Redis } from "ioredis";
import { addUsage, noUsage, type Usage } from "../../agent/model.ts";
import { keys } from "../redis/keys.ts";

/**
 * What was used and how it was liked, by day and subject: everybody together, a channel, a person, a trigger, a model. One hash a
 * day, whose fields are `<subject> <measure>`; the budgets are checked against these same figures. Cost is in
 * millionths of a dollar.
 */

export const subjects = {
  all: "all",
  channel: (place: string) => `channel:${place}`,
  user: (place: string) => `user:${place}`,
  trigger: (name: string) => `trigger:${name}`,
  model: (id: string) => `model:${id}`,
  /** The id of the person that a subject is, without the place. */
  userIn: (subject: string) => /^user:[^:]+:[^:]+:(.+)$/.exec(subject)?.[1],
} as const;

/** What is counted of a watched channel, in the place of a trigger's name. */
export function nameWatch(channel: string): string {
  return `watch:${channel}`;
}

export const dimensions = ["all", "channel", "user", "trigger", "model"] as const;

/** What a person thinks of an answer; also the measure under which it is counted. */
export type Rating = "liked" | "disliked";

/** One subject on one day. `id` is empty for everybody together. */
export interface UsageRow {
  day: string;
  dimension: (typeof dimensions)[number];
  id: string;
  usage: Usage;
  turns: number;
  /** Opinions of people; only for everybody together and for models. */
  ratings: Record<Rating, number>;
}

/** Making one takes longer than all that a budget asks of Redis. */
const dayFormats = new Map<string, Intl.DateTimeFormat>();

/** The day there at that time (ms since the epoch), as YYYY-MM-DD. */
export function formatDay(timeZone: string, at: number): string {
  let format = dayFormats.get(timeZone);
  // Sweden writes dates this way.
  if (!format) dayFormats.set(timeZone, (format = new Intl.DateTimeFormat("sv-SE", { timeZone })));
  return format.format(at);
}

/** The last `count` days, the latest first. */
export function listLastDays(timeZone: string, now: number, count: number): string[] {
  const latest = Date.parse(`${formatDay(timeZone, now)}T00:00:00Z`);
  return Array.from({ length: count }, (_, back) => formatDay("UTC", latest - back * 86_400_000));
}

/** All that is known of these days. */
export async function readUsage(redis: Redis, days: readonly string[]): Promise<UsageRow[]> {
  const stored = await Promise.all(days.map((day) => redis.hgetall(keys.usage(day))));
  return days.flatMap((day, index) => rowsOf(day, stored[index] ?? {}));
}

function rowsOf(day: string, fields: Record<string, string>): UsageRow[] {
  const rows = new Map<string, UsageRow>();
  for (const [field, value] of Object.entries(fields)) {
    const end = field.lastIndexOf(" ");
    const subject = field.slice(0, end);
    const dimension = dimensions.find((name) => subject === name || subject.startsWith(`${name}:`));
    if (!dimension) continue;
    const row = rows.get(subject) ?? {
      day,
      dimension,
      id: subject.slice(dimension.length + 1),
      usage: noUsage,
      turns: 0,
      ratings: { liked: 0, disliked: 0 },
    };
    rows.set(subject, withFigure(row, field.slice(end + 1), Number(value)));
  }
  return [...rows.values()];
}

function withFigure(row: UsageRow, measure: string, value: number): UsageRow {
  if (measure === "turns") return { ...row, turns: value };
  if (measure === "liked" || measure === "disliked")
    return { ...row, ratings: { ...row.ratings, [measure]: value } };
  if (measure === "unpriced") return { ...row, usage: { ...row.usage, priceUnknown: true } };
  const figure = measure === "cost" ? value / 1_000_000 : value;
  return { ...row, usage: addUsage(row.usage, { ...noUsage, [measure]: figure }) };
}

/** Whole millionths, as Redis counts them. */
export function toMicroDollars(dollars: number): number {
  return Math.round(dollars * 1_000_000);
}

/** An amount in words: of cost in millionths of a dollar, or of tokens. */
export function formatAmount(measure: "cost" | "tokens", amount: number): string {
  return measure === "cost"
    ? `$${(amount / 1_000_000).toFixed(2)}`
    : `${Math.floor(amount).toLocaleString("en-US")} tokens`;
}
