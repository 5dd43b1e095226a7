import type { Redis } from "ioredis";
import { z } from "zod";
import type { Speaker } from "../../agent/messages.ts";
import { createStoredParser } from "../../agent/text/parse-stored.ts";
import { speakerSchema } from "../../agent/journal/schemas.ts";
import { channels, keys } from "../redis/keys.ts";
import { readStored } from "../redis/unreadable.ts";

const dayBudget = z.looseObject({
  cost: z.number().positive().exactOptional(),
  tokens: z.number().int().positive().exactOptional(),
});

const changedSchema = z.discriminatedUnion("setting", [
  z.looseObject({ setting: z.literal("person"), of: z.string(), value: z.enum(["allow", "deny"]) }),
  z.looseObject({ setting: z.literal("model"), of: z.string(), value: z.string() }),
  z.looseObject({ setting: z.literal("instructions"), of: z.string(), value: z.string() }),
  z.looseObject({
    setting: z.literal("verbosity"),
    of: z.string(),
    value: z.enum(["quiet", "normal", "full"]),
  }),
  z.looseObject({ setting: z.literal("budget"), of: z.string(), value: dayBudget }),
]);

/**
 * What an administrator has changed in chat, over the settings of the file. `of`: the person or the channel that it is
 * about, as `platform:workspace:id`.
 */
export type ChangedSetting = z.infer<typeof changedSchema>;

/** Which setting of whom. */
export type SettingName = Pick<ChangedSetting, "setting" | "of">;

/** With who did so and when (ms). */
export type AdminChange = ChangedSetting & { by: Speaker; at: number };

const parseChange = createStoredParser<AdminChange>(
  changedSchema.and(z.looseObject({ by: speakerSchema, at: z.number() })),
);

/** The value in words. */
export function formatChange(change: ChangedSetting): string {
  return change.setting === "budget" ? formatBudget(change.value) : change.value;
}

/** What may be used in a day, in words. */
export function formatBudget({ cost, tokens }: { cost?: number; tokens?: number }): string {
  const parts = [
    ...(cost === undefined ? [] : [`$${cost.toFixed(2)} a day`]),
    ...(tokens === undefined ? [] : [`${tokens.toLocaleString("en-US")} tokens a day`]),
  ];
  return parts.join(" and ") || "without limit";
}

/** So many are kept. */
const mostChanges = 2_000;

const fieldOf = ({ setting, of }: SettingName) => `${setting} ${of}`;

/** Everything that is changed, in the order of its time. What cannot be read is reported and left out. */
export async function readChanges(redis: Redis): Promise<AdminChange[]> {
  const stored = await redis.hgetall(keys.adminChanges);
  return Object.entries(stored)
    .flatMap(([field, json]) => readStored(redis, parseChange, json, `The change of ${field}`) ?? [])
    .toSorted((a, b) => a.at - b.at);
}

/** Stores a change and tells all processes. @returns what was there before; `full` when there is no room for more */
export async function storeChange(redis: Redis, change: AdminChange): Promise<Replaced | "full"> {
  const field = fieldOf(change);
  const [count, known] = await Promise.all([
    redis.hlen(keys.adminChanges),
    redis.hexists(keys.adminChanges, field),
  ]);
  if (count >= mostChanges && known === 0) return "full";
  const write = redis
    .multi()
    .hget(keys.adminChanges, field)
    .hset(keys.adminChanges, field, JSON.stringify({ v: 1, ...change }));
  return await announce(redis, field, await write.exec());
}

/** Takes a change away, so that the file's word counts again. */
export async function removeChange(redis: Redis, name: SettingName): Promise<Replaced> {
  const field = fieldOf(name);
  const write = redis.multi().hget(keys.adminChanges, field).hdel(keys.adminChanges, field);
  return await announce(redis, field, await write.exec());
}

/** `before`: absent where the setting was not changed. */
interface Replaced {
  before?: AdminChange;
}

async function announce(
  redis: Redis,
  field: string,
  results: [error: Error | null, result: unknown][] | null,
): Promise<Replaced> {
  const failed = results?.find(([error]) => error)?.[0];
  if (!results || failed) throw failed ?? new Error("The change was not stored.");
  await redis.publish(channels.configuration, "changes");
  const json = results[0]?.[1];
  const before =
    typeof json === "string" ? readStored(redis, parseChange, json, `The change of ${field}`) : undefined;
  return before ? { before } : {};
}
