import type { TurnOutcome } from "../../src/agent/events.ts";
import type { JournalRecord } from "../../src/agent/journal/journal.ts";
import type { UserMessage } from "../../src/agent/messages.ts";
import { hadItsEnd } from "../../src/queue/turns/stops.ts";

/** Everything that is known about one thread when all is quiet again. */
export interface Evidence {
  /** Ids of the messages that people sent, in their order. */
  sent: readonly string[];
  journal: readonly JournalRecord[];
  /** Messages that no turn has taken, and posts that were not made. */
  left: { mail: number; outbox: number; status: string };
  /** What people see: the bot's messages, and the bot's reactions by message that is still there. */
  posts: readonly string[];
  marks: ReadonlyMap<string, readonly string[]>;
  /** What the tool calls wrote. */
  lines: readonly string[];
}

/** The one way in which an accepted message ended. `paused`: told that a limit has ended its turn. */
export type Fate = "answered" | "paused" | "stopped" | "withdrawn" | "failed";

const repeated = "This may be a repeat";
const markOf: Record<Fate, string> = {
  answered: "white_check_mark",
  paused: "white_check_mark",
  stopped: "octagonal_sign",
  withdrawn: "octagonal_sign",
  failed: "warning",
};

/**
 * Holds a thread against the promises: each message taken once, in order, with exactly one end that people were
 * told of once; no call repeated, none lost. Returns what is broken, in sentences.
 */
export function check(evidence: Evidence): { fates: Map<string, Fate>; broken: string[] } {
  const broken: string[] = [];
  const fates = fatesOf(evidence.journal, broken);
  broken.push(
    ...checkMessages(evidence, fates),
    ...checkCalls(evidence),
    ...checkPosts(evidence),
    ...checkMarks(evidence, fates),
  );
  return { fates, broken };
}

function fatesOf(journal: readonly JournalRecord[], broken: string[]): Map<string, Fate> {
  const fates = new Map<string, Fate>();
  let open: UserMessage[] = [];
  let turn = "";
  const end = (id: string, fate: Fate) => {
    if (fates.has(id)) broken.push(`${id} ended twice: ${fates.get(id)} and ${fate}.`);
    fates.set(id, fate);
  };
  for (const record of journal) {
    if (record.type === "turn-start") {
      if (turn) broken.push(`Turn ${record.turn} began before ${turn} ended.`);
      turn = record.turn;
    } else if (record.type === "user") {
      // What a stop came too late for is taken anew by the next turn.
      open = [...open.filter(({ id }) => id !== record.message.id), record.message];
    } else if (record.type === "withdrawn") {
      open = open.filter(({ id }) => id !== record.id);
      end(record.id, "withdrawn");
    } else if (record.type === "turn-end") {
      const over = open.filter((message) => hadItsEnd(message, record.outcome));
      for (const { id } of over) end(id, fateOf(record.outcome));
      open = open.filter((message) => !over.includes(message));
      turn = "";
    }
  }
  for (const { id } of open) broken.push(`${id} was taken and never ended.`);
  if (turn) broken.push(`Turn ${turn} never ended.`);
  return fates;
}

function fateOf({ kind }: TurnOutcome): Fate {
  switch (kind) {
    case "answered":
    case "refused":
      return "answered";
    case "stopped":
      return "stopped";
    case "step-limit":
    case "budget":
      return "paused";
    default:
      return "failed";
  }
}

/** Ids in the order in which turns have taken them; those that a stop left to the next turn once. */
function takenIn(journal: readonly JournalRecord[]): string[] {
  const taken: string[] = [];
  let left = new Set<string>();
  let open: UserMessage[] = [];
  for (const record of journal) {
    if (record.type === "user") {
      open.push(record.message);
      if (!left.delete(record.message.id)) taken.push(record.message.id);
    } else if (record.type === "turn-end") {
      left = new Set(open.filter((message) => !hadItsEnd(message, record.outcome)).map(({ id }) => id));
      open = [];
    }
  }
  return taken;
}

function checkMessages({ sent, journal, left }: Evidence, fates: ReadonlyMap<string, Fate>): string[] {
  const taken = takenIn(journal);
  const ofPeople = taken.filter((id) => sent.includes(id));
  return [
    ...sent.filter((id) => !fates.has(id)).map((id) => `${id} has no end.`),
    ...taken.filter((id, index) => taken.indexOf(id) !== index).map((id) => `${id} was taken twice.`),
    ...sent
      .filter((id) => taken.includes(id))
      .flatMap((id, index) =>
        ofPeople[index] === id ? [] : [`${ofPeople[index]} was taken in the place of ${id}.`],
      ),
    ...(left.mail > 0 ? [`${left.mail} messages were left in the mailbox.`] : []),
    ...(left.outbox > 0 ? [`${left.outbox} posts were left in the outbox.`] : []),
    ...(left.status === "running" ? ["The session says that a turn is running."] : []),
  ];
}

function checkCalls({ journal, lines }: Evidence): string[] {
  const results = journal.flatMap((record) => (record.type === "tool-result" ? [record.message] : []));
  const labels = new Map(
    journal.flatMap((record) =>
      record.type === "assistant"
        ? record.message.parts.flatMap((part) =>
            part.type === "tool-call"
              ? [[part.call.id, /echo (\d+-\d+)/.exec(JSON.stringify(part.call.input))?.[1] ?? ""] as const]
              : [],
          )
        : [],
    ),
  );
  return [
    ...lines
      .filter((line, index) => lines.indexOf(line) !== index)
      .map((line) => `The call ${line} ran twice.`),
    ...[...labels].flatMap(([id, label]) => {
      const [result, ...more] = results.filter(({ callId }) => callId === id);
      if (!result) return [`The call ${label} has no result.`];
      if (more.length > 0) return [`The call ${label} has ${more.length + 1} results.`];
      // Only commands leave a line.
      return label && result.status === "ok" && !lines.includes(label)
        ? [`The call ${label} did nothing.`]
        : [];
    }),
  ];
}

function checkPosts({ journal, posts }: Evidence): string[] {
  const broken: string[] = [];
  const firsts = posts.filter((post) => !post.includes(repeated));
  const ends = journal.flatMap((record) => (record.type === "turn-end" ? [record.outcome] : []));
  for (const outcome of ends) {
    if (outcome.kind === "model-error" && !posts.some((post) => post.includes(outcome.text)))
      broken.push(`Nobody was told of "${outcome.text}".`);
    if (outcome.kind !== "answered") continue;
    const copies = posts.filter((post) => post.includes(outcome.text));
    if (copies.length === 0) broken.push(`"${outcome.text}" was never posted.`);
    if (copies.filter((post) => !post.includes(repeated)).length > 1)
      broken.push(`"${outcome.text}" was posted twice without a word.`);
  }
  const stopped = ends.filter(({ kind }) => kind === "stopped").length;
  const receipts = posts.filter((post) => post.includes("Stopped by")).length;
  if (receipts < stopped) broken.push(`${stopped} turns were stopped and ${receipts} receipts posted.`);
  if (firsts.some((post) => post.includes("Working"))) broken.push("A progress message still says Working.");
  return broken;
}

function checkMarks({ marks }: Evidence, fates: ReadonlyMap<string, Fate>): string[] {
  return [...marks].flatMap(([id, reactions]) => {
    const shown = reactions.join();
    const fate = fates.get(id);
    if (!fate) return [];
    return shown === markOf[fate] ? [] : [`${id} was ${fate} and is marked "${shown}".`];
  });
}
