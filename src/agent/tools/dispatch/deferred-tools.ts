import { z } from "zod";
import type { TokenCounter } from "../../context/tokens.ts";
import { cutText } from "../../text/text.ts";
import { describeTool } from "../definition.ts";
import { defineTool, type Tool } from "../tool.ts";

/**
 * Definitions of tools go with every request, and MCP servers offer them by the hundred. Where those of all servers take
 * too much, they are deferred: the model finds them with `find_tools` and calls them with `call_tool`. So what is found
 * stands in the conversation, and the beginning of the prompt stays what it is when servers change their tools.
 */

/** Beyond this share of the model's window the servers' tools are deferred. */
const sentShare = 0.1;

/** Names of the tools that stand for the deferred ones. */
export const findToolsName = "find_tools";
export const callToolName = "call_tool";

/** How many tools a search shows with their arguments, and how many more it names. */
const mostShown = 5;
const mostNamed = 20;

/** What a search shows of one tool, in characters: what is longer is told as cut. */
const mostChars = 12_000;

/** Once for all turns: describing a schema to the model costs more than the rest of a tool. */
const findInput = z.object({ query: z.string().trim().min(1).max(500) });
const callInput = z.object({
  name: z.string(),
  arguments: z.record(z.string(), z.unknown()).default({}),
});

/**
 * Divides a turn's tools into those whose definitions are sent and those that the model has to find.
 *
 * @param contextTokens the model's window
 * @param most how many tools its service takes
 */
export function deferTools(
  tools: readonly Tool[],
  { contextTokens, tools: most = Infinity }: { contextTokens: number; tools?: number },
  counter: Pick<TokenCounter, "countFixed">,
): { sent: readonly Tool[]; deferred: readonly Tool[] } {
  const personal = tools.filter((tool) => tool.personal);
  const shared = tools.filter((tool) => !tool.personal);
  const deferrable = shared.filter(({ schema, always }) => schema !== undefined && !always);
  const fits = () =>
    counter.countFixed(JSON.stringify(deferrable.map(describeTool))) <= contextTokens * sentShare;
  if (deferrable.length === 0 || (shared.length <= most && fits()))
    return { sent: shared, deferred: personal };
  const sent = shared.filter((tool) => !deferrable.includes(tool));
  return { sent, deferred: [...deferrable, ...personal] };
}

/** The tools that stand for the deferred ones. @param sent those whose definitions are sent */
export function createDeferredAccess(deferred: readonly Tool[], sent: readonly Tool[] = []): Tool[] {
  const unlocked = sent.flatMap(({ unlocks }) => unlocks ?? []);
  const index = deferred.map((tool) => ({ tool, words: new Set(listWords(describeForSearch(tool))) }));
  // Those of a person are named whether or not that person has them.
  const ofServers = deferred.filter((tool) => !tool.personal).flatMap(({ name }) => name.split("__", 1));
  const servers = [...new Set([...ofServers, ...unlocked])].toSorted().join(", ");
  const findTools = defineTool({
    name: findToolsName,
    description:
      `Finds tools that are not listed here, of these servers: ${servers}. Give the words of what you want to do, or a ` +
      `tool's exact name; the best ${mostShown} come with their arguments. Call one with ${callToolName}.`,
    input: findInput,
    effect: "read",
    // A few definitions, whatever their lines.
    limits: { lines: Number.MAX_SAFE_INTEGER, size: 128 * 1024 },
    run: async ({ query }) => ({
      status: "ok",
      text: describeFound(rank(index, query), deferred.length, missing(deferred, sent)),
    }),
  });
  const callTool = defineTool({
    name: callToolName,
    description: `Calls a tool that ${findToolsName} has found.`,
    input: callInput,
    effect: "external",
    // A call of a tool that there is never gets here: it is taken for a call of that tool, see deferred-calls.ts.
    run: async ({ name }) => ({
      status: "error",
      text: `There is no tool ${JSON.stringify(cutText(name, 64))} behind ${callToolName}: find it with ${findToolsName}, or call it directly if it is listed.`,
    }),
  });
  return [findTools, callTool];
}

/** A tool in a result of `find_tools`; a summary knows those in use by this form (see `loaded.ts`). */
function formatFoundTool(tool: Tool): string {
  const { name, description, schema } = describeTool(tool);
  const text = `${description.trim()}\narguments: ${JSON.stringify(schema)}`;
  return `<tool name="${name}">\n${cutText(text, mostChars)}\n</tool>`;
}

/** Whether tools are found, now or once a person has connected an account. */
export function areFound(deferred: readonly Tool[], sent: readonly Tool[]): boolean {
  return deferred.length > 0 || sent.some(({ unlocks }) => unlocks !== undefined);
}

/** Whether it may be a person's tool, by its name for the model: of one of the servers that these tools unlock. */
export function isUnlockedName(name: string, sent: readonly Tool[]): boolean {
  return sent.some((tool) => tool.unlocks !== undefined && tool.name !== name && isOf(name, tool.unlocks));
}

/** Names of the tools that connect an account without which a server's tools are not here. */
function missing(deferred: readonly Tool[], sent: readonly Tool[]): string[] {
  return sent
    .filter(({ unlocks }) => unlocks !== undefined && !deferred.some(({ name }) => isOf(name, unlocks)))
    .map(({ name }) => name);
}

/** Whether it is a tool of that server, by its name for the model. */
function isOf(name: string, server: string): boolean {
  return name.startsWith(`${server.replaceAll(/[^a-zA-Z0-9_-]/g, "_")}__`);
}

function describeFound(found: readonly Tool[], all: number, connecting: readonly string[]): string {
  const hint =
    connecting.length > 0 ? ` Further tools are there once ${connecting.join(" or ")} has worked.` : "";
  if (found.length === 0)
    return `None of the ${all} tools has any of these words. Try others: what it acts on, or the name of its server.${hint}`;
  const more = found.slice(mostShown, mostShown + mostNamed).map(({ name }) => name);
  return [
    ...found.slice(0, mostShown).map(formatFoundTool),
    more.length > 0 && `Also: ${more.join(", ")}.`,
    hint.trim(),
  ]
    .filter(Boolean)
    .join("\n");
}

interface Entry {
  tool: Tool;
  words: ReadonlySet<string>;
}

/** The tool of that name first, then by how many of the words a tool has; a rare word counts for more than a common one. */
function rank(index: readonly Entry[], query: string): Tool[] {
  const asked = [...new Set(listWords(query))];
  const frequency = new Map(
    asked.map((word) => [word, index.filter(({ words }) => hasWord(words, word)).length]),
  );
  const weigh = (word: string) => Math.log(1 + index.length / (frequency.get(word) || Infinity));
  const exact = query.trim().toLowerCase();
  const score = ({ tool, words }: Entry) => {
    const name = tool.name.toLowerCase();
    if (name === exact || name.endsWith(`__${exact}`)) return Infinity;
    const inName = new Set(listWords(tool.name));
    return asked.reduce(
      (sum, word) => sum + (hasWord(words, word) ? weigh(word) * (hasWord(inName, word) ? 2 : 1) : 0),
      0,
    );
  };
  return index
    .map((entry) => ({ tool: entry.tool, score: score(entry) }))
    .filter(({ score: points }) => points > 0)
    .toSorted((a, b) => (a.score === b.score ? 0 : b.score - a.score))
    .map(({ tool }) => tool);
}

/** Also by its beginning: `issue` finds `issues`, and `search` finds `searches`. */
function hasWord(words: ReadonlySet<string>, asked: string): boolean {
  if (words.has(asked)) return true;
  if (asked.length < 4) return false;
  for (const word of words)
    if (word.startsWith(asked) || (word.length >= 4 && asked.startsWith(word))) return true;
  return false;
}

function describeForSearch({ name, description, schema }: Tool): string {
  const { properties } = schema ?? {};
  const fields = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  return [name, cutText(description, 2_000), ...fields.slice(0, 50)].join(" ");
}

/** In small letters; `getOpenIssues` and `get_open_issues` are three words. */
function listWords(text: string): string[] {
  const apart = text.replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2").toLowerCase();
  return apart.match(/[\p{L}\p{N}]+/gu) ?? [];
}
