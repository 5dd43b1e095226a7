import type { Speaker } from "../../agent/messages.ts";
import type { ThreadId } from "../../chat/threads.ts";

/** A person connected an account of theirs at an MCP server, or it was disconnected; an operator may do that, too. */
export interface AccountAuditEvent {
  action: "account-connected" | "account-disconnected";
  server: string;
  /** Whose it is: `platform:workspace:id`. */
  of: string;
  /** Absent where it was done by an operator's command. */
  thread?: ThreadId;
  by: Speaker;
}
