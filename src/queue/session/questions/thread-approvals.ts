import type { Redis } from "ioredis";
import { z } from "zod";
import type { Speaker } from "../../../agent/messages.ts";
import { createStoredParser } from "../../../agent/text/parse-stored.ts";
import type { AskingRule } from "../../../agent/policy-decision.ts";
import type { Decision } from "../../../agent/questions.ts";
import { speakerSchema } from "../../../agent/journal/schemas.ts";
import type { ThreadId } from "../../../chat/threads.ts";
import { keys } from "../../redis/keys.ts";
import { readHeadField } from "../stored.ts";

/**
 * What people have approved for a whole thread: calls that these rules ask about run in it without asking. Each is a
 * field of the session's head, written with the decision that gives it.
 */

export interface ThreadApproval {
  rule: AskingRule;
  by: Speaker;
  /** By the platform's clock, ms. */
  at: number;
}

const parseApproval = createStoredParser(
  z.looseObject({
    rule: z.looseObject({ id: z.string(), text: z.string() }),
    by: speakerSchema,
    at: z.number(),
  }) satisfies z.ZodType<ThreadApproval>,
);

const approvedField = (rule: string) => `approved:${rule}` as const;

/** The fields and values that go with a decision, in turn. */
export function listApprovedFields(decision: Decision): string[] {
  if (decision.kind !== "approved") return [];
  const { by, at, rules = [] } = decision;
  return rules.flatMap((rule) => {
    const approval: ThreadApproval = { rule, by, at };
    return [approvedField(rule.id), JSON.stringify(approval)];
  });
}

/** Who has approved all of these rules for the thread, at the last of them; undefined when one is missing. */
export async function readApprovals(
  redis: Redis,
  thread: ThreadId,
  rules: readonly string[],
): Promise<ThreadApproval[] | undefined> {
  if (rules.length === 0) return undefined;
  const fields = rules.map(approvedField);
  const stored = await redis.hmget(keys.head(thread), ...fields);
  const found = fields.flatMap(
    (field, index) => readHeadField(redis, thread, field, parseApproval, stored[index]) ?? [],
  );
  return found.length === rules.length ? found : undefined;
}

/** All that is approved for the thread, in the order in which it was. */
export async function listApprovals(redis: Redis, thread: ThreadId): Promise<ThreadApproval[]> {
  const head = await redis.hgetall(keys.head(thread));
  return Object.entries(head)
    .filter(([field]) => field.startsWith(approvedField("")))
    .flatMap(([field, json]) => readHeadField(redis, thread, field, parseApproval, json) ?? [])
    .toSorted((a, b) => a.at - b.at);
}

/** Takes these back: the next call that their rules ask about is put to people again. */
export async function takeBackApprovals(
  redis: Redis,
  thread: ThreadId,
  approvals: readonly ThreadApproval[],
): Promise<void> {
  const fields = approvals.map(({ rule }) => approvedField(rule.id));
  if (fields.length > 0) await redis.hdel(keys.head(thread), ...fields);
}
