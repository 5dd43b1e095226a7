import { foldText } from "../../agent/text/text.ts";
import { parseThreadId } from "../../chat/threads.ts";
import type { AuditEntry } from "../../telemetry/audit/chain.ts";
import type { Mask } from "../excerpt.ts";
import type { AuditQuery } from "../finding.ts";
import { channelId } from "../names.ts";

/** What entries of the audit log are chosen by. */
export type AuditFilter = Omit<AuditQuery, "before">;

/**
 * Tells which entries are wanted, people's names in them opened before. Model, cost and state are those that stand in
 * an entry itself: what a thread is or has cost today says nothing of what was done in it then.
 */
export function createAuditFilter(filter: AuditFilter, mask: Mask): (entry: AuditEntry) => boolean {
  const { thread, channel, what, state, model, minCost = 0, since = 0, until = Infinity } = filter;
  const person = foldText(filter.person?.trim() ?? "");
  return (entry) =>
    entry.at >= since &&
    entry.at < until &&
    isSame(thread, "thread" in entry ? entry.thread : undefined) &&
    isSame(what, entry.what) &&
    isSame(state, readState(entry)) &&
    (channel === undefined || channel === readChannel(entry)) &&
    (model === undefined || readModels(entry).includes(model)) &&
    (minCost <= 0 || readCost(entry) >= minCost) &&
    (!person || listPeople(entry).some((name) => foldText(mask(name)).includes(person)));
}

/** Everybody whom an entry names. */
export function listPeople(entry: AuditEntry): string[] {
  const { by, asked } = { by: "", asked: [], ...entry };
  const people = [typeof by === "string" ? by : by.name, ...asked.map((one) => one.by.name)];
  return [...new Set(people)].filter(Boolean);
}

function isSame(wanted: string | undefined, value: string | undefined): boolean {
  return wanted === undefined || wanted === value;
}

/** How a turn or a call has ended, or what was decided. */
function readState(entry: AuditEntry): string | undefined {
  switch (entry.what) {
    case "turn-ended":
    case "setup-ended":
      return entry.outcome;
    case "tool-ended":
      return entry.status;
    case "decided":
    case "decision-refused":
      return entry.decision;
    default:
      return undefined;
  }
}

function readChannel(entry: AuditEntry): string | undefined {
  return "thread" in entry && entry.thread !== undefined ? channelId(parseThreadId(entry.thread)) : undefined;
}

/** An older Heddle has written no models, and no cost. */
function readModels(entry: AuditEntry): readonly string[] {
  return (entry.what === "turn-ended" && entry.models) || [];
}

function readCost(entry: AuditEntry): number {
  return (entry.what === "turn-ended" && entry.cost) || 0;
}
