import type { JournalRecord } from "../../src/agent/journal/journal.ts";
import type { FakeSlack } from "../fakes/slack/fake-slack.ts";

/** A receipt of a stop. */
export interface Receipt {
  /** `ts` of the thread's first message. */
  thread: string;
  text: string;
  /** When Slack was first asked to post it, ms since the epoch. */
  at: number;
}

/** What says that nobody knows whether something has ended, and what says later that it has. */
const [notKnown, hasEnded] = ["not known to have ended", "has ended:"];

/** Notes the receipts of stops, and what follows them up, as they are posted. It reads all calls until `isOver`. */
export function watchReceipts(slack: FakeSlack, isOver: () => boolean): readonly Receipt[] {
  const receipts: Receipt[] = [];
  let seen = 0;
  const look = () => {
    for (const { method, args } of slack.calls.slice(seen)) {
      const { text, thread_ts: thread } = args;
      if (method !== "chat.postMessage" || typeof text !== "string" || typeof thread !== "string") continue;
      if (text.includes("Stopped by") || text.includes(hasEnded))
        receipts.push({ thread, text, at: Date.now() });
    }
    seen = slack.calls.length;
    return isOver();
  };
  // Whoever waits for something ends the wait by that; this is only over with the test.
  void slack.until(look, 2 ** 31 - 1).catch(() => undefined);
  return receipts;
}

interface Tick {
  label: string;
  at: number;
}

function readTick(line: string): Tick[] {
  const [, label = "", seconds = ""] = /^tick (\d+-\d+) (\d+[.,]\d+)$/.exec(line) ?? [];
  return label ? [{ label, at: Number(seconds.replace(",", ".")) * 1_000 }] : [];
}

/** What was said to have ended, and what of it has written afterwards. */
export interface CheckedEnds {
  /** Results and receipts. */
  claims: number;
  /** Those that say that it is not known. */
  unknown: number;
  broken: string[];
}

/**
 * Holds what the model and people were told against the times at which commands have written: whatever has a result, or
 * belongs to a turn with a receipt, writes nothing after it, unless it says that its end is not known. Once people were
 * told that such a command has ended, it writes nothing either.
 *
 * @param lines what ticking calls have written @param receipts of this thread
 */
export function checkEnds(
  journal: readonly JournalRecord[],
  lines: readonly string[],
  receipts: readonly Receipt[],
): CheckedEnds {
  const ticks = lines.flatMap(readTick);
  const lastTick = new Map(ticks.map(({ label, at }) => [label, at]));
  const result: CheckedEnds = { claims: 0, unknown: 0, broken: [] };
  const claim = (text: string, labels: readonly string[], at: number, what: string) => {
    if (text.includes(notKnown)) {
      result.unknown += 1;
      return;
    }
    result.claims += 1;
    for (const label of labels) {
      // Results are stamped in whole milliseconds.
      const late = (lastTick.get(label) ?? 0) - at - 1;
      if (late > 0)
        result.broken.push(`${label} wrote ${Math.round(late)} ms after ${what}: ${text.slice(0, 200)}`);
    }
  };

  const labels = new Map<string, string>();
  /** Calls of turns that were stopped, and when. */
  const stopped: { labels: string[]; at: number }[] = [];
  let turn: string[] = [];
  for (const record of journal) {
    if (record.type === "turn-start") turn = [];
    if (record.type === "assistant")
      for (const part of record.message.parts) {
        if (part.type !== "tool-call") continue;
        const label = /echo (\d+-\d+)/.exec(JSON.stringify(part.call.input))?.[1];
        if (!label) continue;
        labels.set(part.call.id, label);
        turn.push(label);
      }
    if (record.type === "tool-result") {
      const label = labels.get(record.message.callId);
      if (label) claim(record.message.text, [label], record.at, "its result");
    }
    if (record.type === "turn-end" && record.outcome.kind === "stopped")
      stopped.push({ labels: turn, at: record.at });
  }
  for (const { text, at } of receipts) {
    const before = stopped.filter((each) => each.at <= at);
    // A follow-up is about all that is over by then.
    const about = text.includes(hasEnded) ? before : before.slice(-1);
    claim(
      text.replace(/What was not known to have ended/, ""),
      about.flatMap((each) => each.labels),
      at,
      "a receipt",
    );
  }
  return result;
}
