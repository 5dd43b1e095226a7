import { AccountBusy } from "../../agent/contracts/mcp-account.ts";
import { toInlineCode } from "../../chat/visible-call.ts";

/** A text command about the accounts that its writer has connected. */
export type DisconnectCommand = { kind: "list" } | { kind: "disconnect"; server: string };

/** Accounts of one person at MCP servers. */
export interface OwnAccounts {
  /** @param person `platform:workspace:id` */
  list(person: string): Promise<string[]>;
  /** `revoked`: their authorization server says within a moment that it has ended the tokens. @throws AccountBusy */
  disconnect(person: string, server: string): Promise<{ was: boolean; revoked: boolean }>;
}

/** The whole message must be `!disconnect`, or that with a server's name; a slash does as well where it is left to us. */
export function readDisconnectCommand(text: string): DisconnectCommand | undefined {
  const [all, server] = /^[/!]disconnect(?:\s+([\w.-]{1,64}))?$/i.exec(text.trim()) ?? [];
  if (all === undefined) return undefined;
  return server === undefined ? { kind: "list" } : { kind: "disconnect", server };
}

/** Runs the command for one person: gives the reply, and the server whose account was disconnected. */
export async function answerDisconnectCommand(
  accounts: OwnAccounts,
  person: string,
  command: DisconnectCommand,
): Promise<{ markdown: string; disconnected?: string }> {
  const servers = (await accounts.list(person)).toSorted();
  const named = servers.map(toInlineCode).join(", ");
  if (command.kind === "list")
    return {
      markdown:
        servers.length === 0
          ? "You have connected no account."
          : `You have connected ${named}. \`!disconnect\` with one of these names ends that.`,
    };
  const wanted = command.server.toLowerCase();
  const server =
    servers.find((each) => each === command.server) ?? servers.find((each) => each.toLowerCase() === wanted);
  const there = servers.length === 0 ? "." : `, but at ${named}.`;
  const nothing = { markdown: `You have no account at ${toInlineCode(command.server)}${there}` };
  if (server === undefined) return nothing;
  const done = await accounts.disconnect(person, server).catch((error: unknown) => {
    if (error instanceof AccountBusy) return error;
    throw error;
  });
  if (done instanceof AccountBusy) return { markdown: done.message };
  const { was, revoked } = done;
  if (!was) return nothing;
  const end = revoked
    ? "What I had to sign in with is revoked there."
    : "Nothing is done with it from now on. I cannot tell whether it was revoked there, too: look into your settings there.";
  return { markdown: `**Disconnected from ${toInlineCode(server)}.** ${end}`, disconnected: server };
}
