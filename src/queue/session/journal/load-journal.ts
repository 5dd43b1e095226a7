import type { Redis } from "ioredis";
import { z } from "zod";
import { type Replay, startReplay } from "../../../agent/journal/replay.ts";
import type { JournalRecord } from "../../../agent/journal/journal.ts";
import type { UserMessage } from "../../../agent/messages.ts";
import type { ThreadId } from "../../../chat/threads.ts";
import { keys } from "../../redis/keys.ts";
import { loadScript } from "../../redis/script.ts";
import { findCancelled } from "../mailbox/cancelled-messages.ts";
import { charsOf, readBackward, readForward } from "./journal.ts";
import { partsOutside, type Span } from "../../undo/spans.ts";
import { type FoundJournal, readSnapshot, type TurnEnd } from "./snapshot.ts";
import { isStandIn, readRecords } from "../stored.ts";

const surveyScript = loadScript(new URL("../scripts/survey.lua", import.meta.url));
/** See its header. */
const surveyReply = z.tuple([z.int(), z.string(), z.array(z.int())]);

/** What a claim knows of its session's journal. What it costs to learn it does not grow with the journal's age. */
export interface LoadedJournal {
  replay: Replay;
  /** How the last turn has ended. */
  lastEnd: TurnEnd | undefined;
  /** Messages that were taken back behind where it was read from, and how many were before. */
  withdrawn: { before: number; messages: UserMessage[] };
  /** What was read, or written since, behind the last snapshot. */
  tail: { records: number; chars: number };
  /** How large that snapshot is; 0 without one. */
  snapshotChars: number;
  /**
   * A record that cannot be read was met, and no summary came behind it. Another Heddle may be able to read it: no
   * snapshot may hide it from that one.
   */
  hasGap: boolean;
  /** There was no snapshot, and all of a long journal was looked through: no other claim should have to. */
  wasSurveyed: boolean;
}

/** A journal without a snapshot that is no longer than this is read from its beginning. */
const mostReplayed = 5_000;

/**
 * Reads what a claim has found, from the newest snapshot on; without one from as far back as the next turn needs.
 *
 * @param undone parts of the journal that were undone; a snapshot stands for none of them
 */
export async function loadJournal(
  redis: Redis,
  thread: ThreadId,
  found: FoundJournal,
  undone: readonly Span[] = [],
): Promise<LoadedJournal> {
  const kept = await readSnapshot(redis, thread, found);
  if (!kept && (found.length > mostReplayed || undone.length > 0))
    return loadWithoutSnapshot(redis, thread, found.length, undone);
  const { position, withdrawn, lastEnd, ...base } = kept?.snapshot ?? nothing;
  const loaded = startLoading(startReplay(base), withdrawn, lastEnd);
  loaded.snapshotChars = kept?.chars ?? 0;
  // With a snapshot that cannot be read, only what is behind it was read by the claim.
  if (found.records && (kept || !found.snapshot)) {
    const records = readRecords(redis, thread, position, found.records);
    loaded.withdrawn.messages.push(...findCancelled(records));
    addTail(loaded, records, charsOf(found.records));
  } else await readTail(redis, thread, loaded, position, found.length);
  return loaded;
}

const nothing = { position: 0, messages: [], withdrawn: 0, lastEnd: undefined };

function startLoading(replay: Replay, before: number, lastEnd: TurnEnd | undefined): LoadedJournal {
  const withdrawn = { before, messages: [] };
  const tail = { records: 0, chars: 0 };
  return { replay, lastEnd, withdrawn, tail, snapshotChars: 0, hasGap: false, wasSurveyed: false };
}

/** Goes on with records that come behind those that it knows. */
export function addTail(loaded: LoadedJournal, records: readonly JournalRecord[], chars: number): void {
  loaded.replay.add(records);
  loaded.lastEnd = records.findLast((record) => record.type === "turn-end") ?? loaded.lastEnd;
  for (const record of records) {
    if (isStandIn(record)) loaded.hasGap = true;
    else if (record.type === "summary") loaded.hasGap = false;
  }
  loaded.tail.records += records.length;
  loaded.tail.chars += chars;
}

async function readTail(
  redis: Redis,
  thread: ThreadId,
  loaded: LoadedJournal,
  from: number,
  to: number,
): Promise<void> {
  /** A message stands right before the record that takes it back. */
  let last: JournalRecord | undefined;
  for await (const { records, chars } of readForward(redis, thread, from, to)) {
    loaded.withdrawn.messages.push(...findCancelled(last ? [last, ...records] : records));
    last = records.at(-1)?.type === "user" ? records.at(-1) : undefined;
    addTail(loaded, records, chars);
  }
}

/** How far before a summary it is looked first for what it keeps, in records; then so many times farther. */
const firstReach = 100;
const farther = 8;

/**
 * A long journal of which there is no snapshot: an older Heddle has written it, or the snapshot is lost. It is read from
 * before its last summary on, or from before an earlier one, where that one was undone. So is any journal as it was
 * before some of its turns.
 *
 * @param undone parts that are passed over
 */
export async function loadWithoutSnapshot(
  redis: Redis,
  thread: ThreadId,
  length: number,
  undone: readonly Span[] = [],
): Promise<LoadedJournal> {
  const parts = partsOutside(undone, length);
  const isLong = length > mostReplayed;
  const { chosenModel, withdrawn, summaries } = isLong
    ? await surveyJournal(redis, thread, parts)
    : nothingSeen;
  // People were told of these as well.
  const passedOver = undone.length > 0 ? (await surveyJournal(redis, thread, undone)).withdrawn : 0;
  const [summary = 0] = summaries;
  for (let reach = firstReach; reach < summary; reach *= farther) {
    const start = await findTurnEnd(redis, thread, parts, summary - reach);
    if (!start) break;
    const loaded = startLoading(startReplay({ chosenModel }), 0, start.lastEnd);
    await readParts(redis, thread, loaded, parts, start.position);
    if (!loaded.replay.isWhole()) continue;
    loaded.withdrawn.before = withdrawn + passedOver - loaded.withdrawn.messages.length;
    loaded.wasSurveyed = true;
    return loaded;
  }
  const loaded = startLoading(startReplay(), passedOver, undefined);
  await readParts(redis, thread, loaded, parts, 0);
  return loaded;
}

async function readParts(
  redis: Redis,
  thread: ThreadId,
  loaded: LoadedJournal,
  parts: readonly Span[],
  from: number,
): Promise<void> {
  for (const part of parts) {
    if (part.to > from) await readTail(redis, thread, loaded, Math.max(part.from, from), part.to);
  }
}

const surveyedAtOnce = 1_000;
/** Pieces that are asked for before the first is answered. */
const surveysAhead = 4;

interface Survey {
  chosenModel: string | undefined;
  /** How many messages were taken back. */
  withdrawn: number;
  /** Positions, newest first. */
  summaries: number[];
}

const nothingSeen: Survey = { chosenModel: undefined, withdrawn: 0, summaries: [] };

/** Looks through all of a journal without reading it: Redis says what a replay of its last part cannot know. */
async function surveyJournal(redis: Redis, thread: ThreadId, parts: readonly Span[]): Promise<Survey> {
  const survey: Survey = { chosenModel: undefined, withdrawn: 0, summaries: [] };
  const pieces = parts.toReversed().flatMap(cutForSurvey);
  for (let first = 0; first < pieces.length; first += surveysAhead) {
    const answers = await Promise.all(
      pieces
        .slice(first, first + surveysAhead)
        .map(({ from, to }) => surveyScript.run(redis, [keys.log(thread)], [from, to - 1])),
    );
    for (const answer of answers) {
      const [withdrawn, model, summaries] = surveyReply.parse(answer);
      survey.withdrawn += withdrawn;
      survey.chosenModel ??= model === "" ? undefined : model;
      survey.summaries.push(...summaries);
    }
  }
  return survey;
}

/** Its pieces, the last one first. */
function cutForSurvey({ from, to }: Span): Span[] {
  const pieces: Span[] = [];
  for (let end = to; end > from; end -= surveyedAtOnce)
    pieces.push({ from: Math.max(from, end - surveyedAtOnce), to: end });
  return pieces;
}

/** The last end of a turn before that position, and where the record behind it stands. */
async function findTurnEnd(
  redis: Redis,
  thread: ThreadId,
  parts: readonly Span[],
  before: number,
): Promise<{ position: number; lastEnd: TurnEnd } | undefined> {
  for (const part of parts.toReversed()) {
    if (part.from >= before) continue;
    for await (const { records, from } of readBackward(redis, thread, Math.min(part.to, before))) {
      const index = records.findLastIndex(
        ({ type }, place) => type === "turn-end" && from + place >= part.from,
      );
      const lastEnd = records[index];
      if (lastEnd?.type === "turn-end") return { position: from + index + 1, lastEnd };
      if (from <= part.from) break;
    }
  }
  return undefined;
}
