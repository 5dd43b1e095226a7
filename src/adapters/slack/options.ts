import type { Downtime } from "../../chat/downtime.ts";
import type { DayBudgets, RecentThreads } from "../../chat/home.ts";
import type { Author } from "../../chat/inbound.ts";
import type { TaskChoices } from "../../chat/task-choices.ts";
import type { ThreadRef } from "../../chat/threads.ts";
import type { HttpAddress } from "./connection/http.ts";
import type { SlackServer } from "./connection/web.ts";
import type { Installations } from "./installation/installations.ts";
import type { OAuthClient } from "./installation/oauth-client.ts";

export interface SlackAdapterOptions extends SlackServer {
  /** One team by its token (`xoxb-…`), or all that install the app, which needs `http`. */
  teams: { botToken: string } | { client: OAuthClient; installations: Installations };
  /** Socket Mode with an `xapp-…` token that has `connections:write`, or requests with a signing secret. */
  events: { kind: "socket"; appToken: string } | ({ kind: "http"; signingSecret: string } & HttpAddress);
  /** Names of the reactions that stop a turn, without colons. */
  stopReactions: readonly string[];
  /** Names of the reactions that give a message to the agent, without colons. Default: none. */
  startReactions?: readonly string[];
  /** Whether messages count in that channel that address nobody. Default: in none. */
  isWatched?(teamId: string, channel: string): boolean;
  downtime: Downtime;
  /** Whether that person's tasks are accepted: the bot posts no others in its own name. */
  mayAsk(teamId: string, author: Author): boolean;
  /** What may be chosen with a task there: the bot posts no task that is refused. */
  choices(place: ThreadRef, author: Author): Promise<TaskChoices>;
  /** Both for the home tab. */
  recentThreads: RecentThreads;
  dayBudgets: DayBudgets;
}
