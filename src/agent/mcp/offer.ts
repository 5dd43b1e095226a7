import { isDeepStrictEqual } from "node:util";
import type { Tool } from "../tools/tool.ts";
import type { ServerInstructions } from "./instructions.ts";
import { type Listing, nothingListed } from "./listing/listing.ts";
import type { Joined } from "./member.ts";

/** What the servers give to a turn. It changes only when the turn renews it, so that the prompt stays cacheable. */
export interface McpOffer {
  /** Always in the same order. */
  tools: readonly Tool[];
  /** In the order of the servers. */
  instructions: readonly ServerInstructions[];
  /**
   * What they offer after a change that one of them has announced since, as after a login; undefined where none has.
   * Never rejects.
   */
  renew(signal: AbortSignal): Promise<McpOffer | undefined>;
}

interface Listed {
  joined: Joined;
  listing: Listing;
}

export function createOffer(listed: readonly Listed[]): McpOffer {
  const offered = listed.map(({ joined, listing }) => ({
    server: joined.server,
    // A person's listing is no part of the prompt, which all people of a thread share.
    text: joined.isPersonal ? "" : listing.instructions,
    tools: joined.tools(listing),
  }));
  return {
    tools: keepFirst(offered.flatMap((server) => server.tools)),
    instructions: offered
      .filter(({ text }) => text !== "")
      .map((server) => ({ ...server, tools: server.tools.map(({ name }) => name) })),
    async renew(signal) {
      await Promise.all(listed.map(({ joined }) => joined.connection.relist(signal)));
      const renewed = listed.map(takeUpChange);
      return renewed.some((next, index) => next !== listed[index]) ? createOffer(renewed) : undefined;
    },
  };
}

/**
 * Takes only what a server lists that was there when the turn began: one that fails keeps its tools, whose calls say
 * why, and one that joins would void the prompt cache in the middle of a turn. What a person has connected meanwhile
 * does not, for these tools are found.
 */
function takeUpChange(listed: Listed): Listed {
  const { joined, listing } = listed;
  const fresh = joined.connection.listing();
  const mayJoin = joined.isPersonal || listing !== nothingListed;
  const isHere = mayJoin && joined.connection.state().kind === "ready";
  return isHere && !isSameForModels(fresh, listing) ? { joined, listing: fresh } : listed;
}

/** Prompts are chosen by people. */
function isSameForModels(one: Listing, other: Listing): boolean {
  const strip = ({ prompts: _prompts, leftOut: _leftOut, ...rest }: Listing) => rest;
  return isDeepStrictEqual(strip(one), strip(other));
}

/** Names collide only when a server imitates another one's; then the first in the file keeps it. */
export function keepFirst(tools: readonly Tool[]): Tool[] {
  const first = new Map<string, Tool>();
  for (const tool of tools) if (!first.has(tool.name)) first.set(tool.name, tool);
  return [...first.values()];
}
