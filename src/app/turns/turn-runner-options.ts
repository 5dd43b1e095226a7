import { type CompactionPolicy, type ContextWindow } from "../../agent/context/compaction.ts";
import type { TokenCounter } from "../../agent/context/tokens.ts";
import type { JournalReader } from "../../agent/journal/journal.ts";
import type { TurnLimits } from "../../agent/loop/limits.ts";
import type { Situation } from "../../agent/loop/prompt/situation.ts";
import type { Masker } from "../../agent/secrets/masker.ts";
import type { InputStore } from "../../agent/contracts/input-store.ts";
import type { McpPool } from "../../agent/mcp/pool.ts";
import { type Speaker, type UserMessage } from "../../agent/messages.ts";
import type { LanguageModel } from "../../agent/model.ts";
import type { NoteStore } from "../../agent/contracts/note-store.ts";
import type { PolicyDecision } from "../../agent/policy-decision.ts";
import type { Policy } from "../../agent/policy/policy.ts";
import type { ScheduleStore } from "../../agent/contracts/schedule-store.ts";
import type { SkillLibrary } from "../../agent/skills/library.ts";
import type { CircuitBreaker } from "../../agent/tools/dispatch/circuit-breaker.ts";
import type { ChatSurface } from "../../chat/surface.ts";
import type { ThreadId } from "../../chat/threads.ts";
import type { MessageExtras } from "../../message-extras/message-extras.ts";
import type { Previews } from "../../previews/previews.ts";
import type { Budgets } from "../../queue/budgets/budgets.ts";
import type { Repositories } from "../../repositories/repositories.ts";
import type { SandboxHealth } from "../../sandbox/health.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { Web } from "../../web/web.ts";
import type { ChannelSettings } from "../channel-settings.ts";
import type { AttachedFiles } from "./attached-files.ts";
import type { SharedWindows } from "./learnt-windows.ts";
import type { Models } from "../models/models.ts";

export interface TurnRunnerOptions extends Pick<Models, "choose" | "summariser" | "helper"> {
  limits: TurnLimits;
  compaction: Partial<CompactionPolicy>;
  budgets: Pick<Budgets, "turnBudget">;
  instructions: string;
  /** What a turn of the thread is told of time and place. Default: nothing. */
  situation?(thread: ThreadId): Promise<Situation>;
  /** What is different in the thread's channel. */
  channel(thread: ThreadId): Partial<ChannelSettings>;
  messageExtras: MessageExtras;
  sandbox: SandboxHealth;
  /** The notes that count in a thread while these people speak, the last of them now. */
  notes(thread: ThreadId, speakers: () => readonly Speaker[]): NoteStore;
  /**
   * What is planned in a thread; `asked` is the person's message that its turn works on. Absent where nothing can
   * start a turn by itself.
   */
  schedules?(thread: ThreadId, asked: () => UserMessage | undefined): ScheduleStore;
  journal(thread: ThreadId): JournalReader;
  /** What all processes have learnt of their models' windows. Default: this one learns alone. */
  windows?: SharedWindows;
  /** What threads have of the web. Default: nothing, and nothing is said of it. */
  web?: Web;
  /** Absent where nothing may be shown to people in a browser. */
  previews?: Pick<Previews, "of"> | undefined;
  /** What threads have of the repositories. Default: none. */
  repositories?: Pick<Repositories, "open">;
  surface(platform: string): ChatSurface;
  skills: SkillLibrary;
  mcp: McpPool;
  /** Where what servers ask people is kept. Absent where nobody is asked. */
  inputs?: InputStore;
  masker: Masker;
  /** Which calls run, are asked for, or are denied; holds for sub-agents too, which cannot ask. */
  policy: Policy;
  /** Asked before each call runs, whatever the rules say. `asked`: grows while the turn runs. */
  permit?(thread: ThreadId, asked: readonly UserMessage[]): () => Promise<PolicyDecision>;
  /** How long a question to people stays open, ms. */
  questionMs: number;
  log: Logger;
  /** Keeps what is named here until the turn has ended, which it calls the result for. */
  hold?(): () => void;
}

/** What the turns of a process share. */
export interface SharedByTurns {
  counter: TokenCounter;
  /** One for each model with its fallbacks, as long as the options are the same. */
  contexts: WeakMap<TurnRunnerOptions, Map<LanguageModel, ContextWindow>>;
  windows: SharedWindows;
  /** What is broken stays known between turns, for each thread by itself. */
  breaker: CircuitBreaker;
  /** What the log was told once. */
  warned: Set<string>;
}

/** What a turn learns of its files while it runs, for its receipt. */
export interface TurnFiles {
  /** Those that the plan names which people have approved. */
  planned: readonly string[];
  attached: AttachedFiles;
}
