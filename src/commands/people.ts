import { consoleAuthor } from "../adapters/console/conversations/intake.ts";
import { createAppContext } from "../app/context.ts";
import { openRedis } from "../app/redis.ts";
import { openThreadRemoval } from "../app/remove-thread.ts";
import { disconnectAll, openAccounts } from "../app/mcp/mcp-accounts.ts";
import type { ThreadId } from "../chat/threads.ts";
import {
  type Forgotten,
  forgetPerson,
  type KnownPerson,
  listKnownPeople,
} from "../operations/people/forget-person.ts";
import { auditFolder } from "../telemetry/telemetry.ts";
import { createCommandContext, UsageError } from "./context.ts";
import { printResult } from "./print-result.ts";

const operator = { ...consoleAuthor(), id: "operator" };

/** Lists whom the audit log names. */
export async function printPeople({ json }: { json?: true }): Promise<number> {
  const setup = await createCommandContext("warn");
  const server = await openRedis(setup.config, setup.log, { adopts: false });
  try {
    const people = await listKnownPeople(server.connect());
    const lines = people.map(({ person, name }) => `${person}${name ? `  ${name}` : ""}`);
    printResult(json, { people }, lines.join("\n") || "The audit log names nobody so far.");
    return 0;
  } finally {
    await server.close();
  }
}

/** Has a person forgotten: their names in the audit log, notes about them, their tokens, and with `threads` their threads. */
export async function forgetPersonByName(who: string, { threads, json }: ForgetOptions): Promise<number> {
  const setup = await createCommandContext("warn");
  const context = await createAppContext(setup);
  try {
    const { redis, telemetry } = context;
    const person = findPerson(who, await listKnownPeople(redis));
    const forgotten = await forgetPerson(
      {
        ...{ redis, auditFolder: auditFolder(setup.config), now: Date.now },
        disconnect: async (whose) =>
          (await disconnectAll(await openAccounts(setup.config, redis), whose)).length,
        audit: (event) => telemetry.auditFirst({ ...event, by: operator }),
      },
      person,
    );
    const remove = openThreadRemoval(context);
    const deleted: ThreadId[] = [];
    for (const { thread, alone } of threads ? forgotten.threads : [])
      if (alone && (await remove(thread, operator)).isDeleted) deleted.push(thread);
    const done = { person, ...forgotten, deleted };
    printResult(json, done, describe(done));
    return 0;
  } finally {
    await context.close();
  }
}

interface ForgetOptions {
  threads?: true;
  json?: true;
}

/** By their id, or by the name of only one. */
function findPerson(who: string, known: readonly KnownPerson[]): string {
  if (/^[^:]+:[^:]+:.+$/.test(who)) return who;
  const found = known.filter(({ name, person }) => name === who || person === `local:console:@${who}`);
  const [one] = found;
  if (one && found.length === 1) return one.person;
  const which = found.map(({ person }) => person).join(", ");
  throw new UsageError(
    one
      ? `Several people are called ${who}: name one of ${which}.`
      : `Nobody is known as ${who}: heddle people list names everybody.`,
  );
}

function describe({
  person,
  isSealed,
  inClear,
  tokens,
  browsers,
  accounts,
  notes,
  threads,
  deleted,
}: Forgotten & { person: string; deleted: ThreadId[] }): string {
  const left = threads.filter(({ thread }) => !deleted.includes(thread));
  const lines = [
    isSealed
      ? `The audit log names ${person} no longer; its chain is intact.`
      : `The audit log has no sealed name of ${person}.`,
    ...(inClear > 0
      ? [
          `${count(inClear, "entry", "entries")} of an older Heddle still name them in clear: only deleting the files of those days removes that.`,
        ]
      : []),
    ...(notes > 0 ? [`${count(notes, "note")} about them deleted.`] : []),
    ...(accounts > 0 ? [`${count(accounts, "account")} at MCP servers disconnected.`] : []),
    ...(tokens > 0 ? [`${count(tokens, "token")} revoked.`] : []),
    ...(browsers > 0 ? [`${count(browsers, "browser")} signed out.`] : []),
    ...(deleted.length > 0 ? [`${count(deleted.length, "thread")} deleted.`] : []),
    ...(left.length > 0
      ? [
          `They have written in ${count(left.length, "thread")} that ${left.length === 1 ? "is" : "are"} still there; heddle threads delete <thread> deletes one:`,
          ...left.map(
            ({ thread, alone }) => `  ${thread}${alone ? "" : "  (others have written there too)"}`,
          ),
        ]
      : []),
  ];
  return lines.join("\n");
}

function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
