import type { Act, Role } from "../../chat/roles.ts";
import type { WorkspaceFiles } from "../../operations/threads/files.ts";
import type { IdempotentRequest } from "../../operations/idempotency.ts";
import type { Operations } from "../../operations/operations.ts";
import type { Problem } from "../../sandbox/sandbox.ts";
import type { AuthGuard } from "./server/auth-guard.ts";
import type { Conversations } from "./conversations/conversations.ts";
import type { ConsoleIntake } from "./conversations/intake.ts";
import type { GithubAppSetup } from "./github-app.ts";
import type { ConsoleSetup } from "./setup-at-console.ts";
import type { LiveStreams } from "./streams/live.ts";
import type { SetupStreams } from "./streams/setup-streams.ts";
import type { TimelineStreams } from "./streams/timeline-streams.ts";
import type { Uploads } from "./conversations/uploads.ts";

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

/** Who has asked, and what this person may do here. */
export interface SignedIn {
  /** `console` for whoever has the console's own token; it begins with `@` for people with names. */
  id: string;
  name: string;
  role: Role;
  may: Act[];
  /** Whether it is a browser that has signed in, and can sign out. */
  byCookie: boolean;
  /** Where such a browser goes once it is signed out here, to be so at the provider that has signed it in. */
  signOutAt?: string;
}

/** What the API needs to answer. */
export interface Services {
  conversations: Conversations;
  uploads: Uploads;
  intake: ConsoleIntake;
  /** Whether an idempotency key stands for this request, and for no other one before. */
  claimKey(request: IdempotentRequest): Promise<boolean>;
  /** Whether somebody of that role may use an address that does this. */
  mayUse(role: Role, act: Act): boolean;
  live: LiveStreams;
  timelineStreams: TimelineStreams;
  setup: ConsoleSetup;
  setupStreams: SetupStreams;
  githubApp: GithubAppSetup;
  files: WorkspaceFiles;
  authGuard: AuthGuard;
  operations: Operations;
  status(): Promise<ConsoleStatus>;
  /** How often it is asked whether whoever has a stream open may still have it, ms. */
  recheckMs: number;
}
