import type { JournalRecord } from "../../src/agent/journal.ts";

/** Everything that is known about one thread when all is quiet again. */
export interface Evidence {
  /** Ids of the messages that people sent, in their order. */
  sent: readonly string[];
  journal: readonly JournalRecord[];
  /** Messages that no turn has taken, and posts that were not made. */
  left: { mail: number; outbox: number; status: string };
  /** What people see: the bot's messages, and the bot's reactions by message. */
  posts: readonly string[];
  marks: ReadonlyMap<string, readonly string[]>;
  /** What the tool calls wrote. */
  lines: readonly string[];
}

/** The one way in which an accepted message ended. */
export type Fate = "answered" | "stopped" | "withdrawn" | "failed";

const repeated = "This may be a repeat";
const markOf: Record<Fate, string> = {
  answered: "white_check_mark",
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
  let open: string[] = [];
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
      open.push(record.message.id);
    } else if (record.type === "withdrawn") {
      open = open.filter((id) => id !== record.id);
      end(record.id, "withdrawn");
    } else if (record.type === "turn-end") {
      const { kind } = record.outcome;
      for (const id of open) end(id, kind === "stopped" ? kind : kind === "answered" ? kind : "failed");
      open = [];
      turn = "";
    }
  }
  for (const id of open) broken.push(`${id} was taken and never ended.`);
  if (turn) broken.push(`Turn ${turn} never ended.`);
  return fates;
}

function checkMessages({ sent, journal, left }: Evidence, fates: ReadonlyMap<string, Fate>): string[] {
  const taken = journal.flatMap((record) => (record.type === "user" ? [record.message.id] : []));
  return [
    ...sent.filter((id) => !fates.has(id)).map((id) => `${id} has no end.`),
    ...taken.filter((id, index) => taken.indexOf(id) !== index).map((id) => `${id} was taken twice.`),
    ...sent
      .filter((id) => taken.includes(id))
      .flatMap((id, index) =>
        taken[index] === id ? [] : [`${taken[index]} was taken in the place of ${id}.`],
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
      return result.status === "ok" && !lines.includes(label) ? [`The call ${label} did nothing.`] : [];
    }),
  ];
}

function checkPosts({ journal, posts }: Evidence): string[] {
  const broken: string[] = [];
  const firsts = posts.filter((post) => !post.includes(repeated));
  const ends = journal.flatMap((record) => (record.type === "turn-end" ? [record.outcome] : []));
  for (const outcome of ends) {
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
  return [...fates].flatMap(([id, fate]) => {
    const shown = (marks.get(id) ?? []).join();
    return shown === markOf[fate] ? [] : [`${id} was ${fate} and is marked "${shown}".`];
  });
}
