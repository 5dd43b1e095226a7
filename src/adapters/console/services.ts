import type { Author } from "../../chat/inbound.ts";
import type { WorkspaceFiles } from "../../operations/files.ts";
import type { Operations } from "../../operations/operations.ts";
import type { Problem } from "../../sandbox/sandbox.ts";
import type { AuthGuard } from "./auth-guard.ts";
import type { Conversations } from "./conversations.ts";
import type { ConsoleIntake } from "./intake.ts";
import type { LiveStreams } from "./live.ts";
import type { TimelineStreams } from "./timeline-streams.ts";
import type { Uploads } from "./uploads.ts";

/** What a person should know about this Heddle before trusting it with work. */
export interface ConsoleStatus {
  /** `provider/model`. */
  model: string;
  /** Whether the model is the built-in one, which only plays scripted scenes. */
  demo: boolean;
  sandbox: { ok: boolean; summary: string; problems: Problem[] };
  /** `url`: from REDIS_URL; `system`: a server that Heddle started; `embedded`: in-process, the last resort. */
  redis: "url" | "system" | "embedded";
  /** The platforms that are connected. */
  adapters: string[];
}

/** What the API needs to answer. */
export interface Services {
  conversations: Conversations;
  uploads: Uploads;
  intake: ConsoleIntake;
  author: Author;
  live: LiveStreams;
  timelineStreams: TimelineStreams;
  files: WorkspaceFiles;
  authGuard: AuthGuard;
  operations: Operations;
  status(): Promise<ConsoleStatus>;
}
