import { join } from "node:path";
import { inject } from "vitest";

/**
 * A folder that holds this repository's packages and MCP servers where each user of the machine may read them: the
 * repository, or a copy where it lies in a private folder, such as `/root` or one of `mktemp`, which the servers of a bot
 * that runs as root cannot pass: they have users of their own.
 */
export const repository = inject("repository");

/** The script of the MCP server that speaks over its input and output. */
export const stdioServer = join(repository, "tests/agent/mcp/servers/stdio.ts");
