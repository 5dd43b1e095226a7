import { isDeepStrictEqual } from "node:util";
import type { Tool } from "../tools/tool.ts";
import type { ServerInstructions } from "./instructions.ts";
import { type Listing, nothingListed } from "./listing.ts";
import type { Member } from "./member.ts";

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
  member: Member;
  listing: Listing;
}

export function createOffer(listed: readonly Listed[]): McpOffer {
  const offered = listed.map(({ member, listing }) => ({
    server: member.server.name,
    text: listing.instructions,
    tools: member.tools(listing),
  }));
  const tools = offered.flatMap((server) => server.tools);
  return {
    // Names collide only when a server imitates another one's; then the first in the file keeps it.
    tools: tools.filter(({ name }, index) => tools.findIndex((tool) => tool.name === name) === index),
    instructions: offered
      .filter(({ text }) => text !== "")
      .map((server) => ({ ...server, tools: server.tools.map(({ name }) => name) })),
    async renew(signal) {
      await Promise.all(listed.map(({ member }) => member.connection.relist(signal)));
      const renewed = listed.map(takeUpChange);
      return renewed.some((next, index) => next !== listed[index]) ? createOffer(renewed) : undefined;
    },
  };
}

/**
 * Takes only what a server lists that was there when the turn began: one that fails keeps its tools, whose calls say
 * why, and one that joins would void the prompt cache in the middle of a turn.
 */
function takeUpChange(listed: Listed): Listed {
  const { member, listing } = listed;
  const fresh = member.connection.listing();
  const isHere = listing !== nothingListed && member.connection.state().kind === "ready";
  return isHere && !isDeepStrictEqual(fresh, listing) ? { member, listing: fresh } : listed;
}
