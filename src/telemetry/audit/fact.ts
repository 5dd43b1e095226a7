import type { NotRun, Speaker, ToolStatus, UserMessage } from "../../agent/messages.ts";
import type { TurnEnding } from "../../agent/silence.ts";
import type { InboundEvent, IntakeResult } from "../../chat/inbound.ts";
import type { Role } from "../../chat/roles.ts";
import type { ThreadId } from "../../chat/threads.ts";
import type { AccountAuditEvent } from "../../intake/questions/account-audit.ts";
import type { IntakeAuditEvent } from "../../intake/intake.ts";
import type { ScheduleAuditEvent } from "../../queue/schedules/schedules.ts";

/** What is done that no observed contract shows. */
export type AuditEvent =
  | IntakeAuditEvent
  | ScheduleAuditEvent
  | ThreadAuditEvent
  | TokenAuditEvent
  | PersonAuditEvent
  | SignInAuditEvent
  | AccountAuditEvent
  | SetupAuditEvent;

/** Somebody at the console, or an operator's command, did something with a whole thread. */
export interface ThreadAuditEvent {
  action:
    | "thread-renamed"
    | "thread-archived"
    | "thread-reopened"
    | "thread-exported"
    | "thread-deleted"
    /** Of a thread in which one person talks to the bot alone. */
    | "direct-read";
  thread: ThreadId;
  by: Speaker;
}

/** An operator gave somebody a token, or ended it. */
export interface TokenAuditEvent {
  action: "token-created" | "token-revoked";
  /** Its id, which opens nothing. */
  token: string;
  /** Whose it is. */
  person: string;
  role: Role;
  by: Speaker;
}

/** An operator had a person forgotten. */
export interface PersonAuditEvent {
  action: "person-forgotten";
  /** What stands for them in the log. */
  alias: string;
  by: Speaker;
}

/** Somebody signed in at the console by a provider. */
export interface SignInAuditEvent {
  action: "signed-in";
  by: Speaker;
}

/** An operator went through the set-up at the console. `names`: steps, or what was saved; never a value. */
export type SetupAuditEvent =
  | { action: "setup-begun" | "setup-saved" | "setup-removed"; names: string[]; by: Speaker }
  | { action: "setup-ended"; outcome: "done" | "failed" | "cancelled" | "silent"; by: Speaker };

/**
 * What the audit log tells: who asked, edited, deleted, stopped, pressed a button (approvals and denials are
 * buttons) or was refused, and what ran for it. No text of a message and no result of a tool is in it.
 */
export type AuditFact =
  | { what: "asked" | "ordered" | "edited" | "deleted"; thread: ThreadId; message: string; by: Speaker }
  | { what: "stopped"; thread: ThreadId; by: Speaker }
  | { what: "pressed"; thread: ThreadId; message: string; button: string; by: Speaker }
  /** What somebody said to an agent's question, or would have. */
  | {
      what: "decided" | "decision-refused";
      thread: ThreadId;
      question: string;
      tool: string;
      decision: string;
      /** What was approved for the whole thread. */
      rules?: string[];
      by: Speaker;
    }
  /** Somebody took back what was approved for the whole thread. */
  | { what: "approvals-cleared"; thread: ThreadId; rules: string[]; by: Speaker }
  /** `by`: whoever planned what was due, or cancelled it; Heddle itself where its person may not ask any more. */
  | {
      what: "schedule-planned" | "schedule-fired" | "schedule-cancelled";
      thread: ThreadId;
      schedule: string;
      by: Speaker;
    }
  /** Somebody changed what waits: took a message out, or had it taken first. */
  | {
      what: "queue-removed" | "queue-advanced" | "queue-moved";
      thread: ThreadId;
      message: string;
      by: Speaker;
    }
  /** An administrator has changed a setting in chat, or an operator has taken that back. */
  | {
      what: "setting-changed";
      thread?: ThreadId;
      setting: string;
      of: string;
      was: string;
      is: string;
      by: Speaker;
    }
  | { what: ThreadAuditEvent["action"]; thread: ThreadId; by: Speaker }
  /** Somebody had turns undone. `turns`: ids, the newest first. */
  | { what: "turns-undone"; thread: ThreadId; turns: string[]; by: Speaker }
  | { what: "undo-taken-back" | "thread-forked"; thread: ThreadId; by: Speaker }
  | { what: TokenAuditEvent["action"]; token: string; person: string; role: Role; by: Speaker }
  | { what: PersonAuditEvent["action"]; alias: string; by: Speaker }
  | { what: SignInAuditEvent["action"]; by: Speaker }
  | { what: AccountAuditEvent["action"]; thread?: ThreadId; server: string; of: string; by: Speaker }
  /** Somebody went through the set-up. `names`: of its steps, or of the variables and settings that were saved. */
  | { what: "setup-begun" | "setup-saved" | "setup-removed"; names: string[]; by: Speaker }
  | { what: "setup-ended"; outcome: string; by: Speaker }
  /** A turn that a limit had ended goes on. `budget`: the one that was extended for it. */
  | { what: "continued"; thread: ThreadId; turn: string; by: Speaker; budget?: string }
  /** `workspace`: `platform:workspace`; an older Heddle did not write it. */
  | { what: "refused"; kind: InboundEvent["kind"]; workspace?: string; message: string; by: Speaker }
  /** With everybody whose message the turn works on; again for messages that it takes along. */
  | { what: "turn-began" | "turn-took"; thread: ThreadId; turn: string; asked: Asked[]; resumed?: true }
  /** Stored before the tool runs. `sha256` is of the whole masked arguments, `arguments` their beginning. */
  | {
      what: "tool-began";
      thread: ThreadId;
      turn: string;
      call: string;
      tool: string;
      sha256: string;
      arguments: string;
    }
  | {
      what: "tool-ended";
      thread: ThreadId;
      turn: string;
      call: string;
      tool: string;
      /** As people see it: a command that ran and has failed is an `error`. */
      status: ToolStatus | NotRun;
      /** Of such a command. */
      exitCode?: number;
      ms: number;
    }
  /** `killed` and `survivors`: processes. Who stopped it is in the entry `stopped`. */
  | {
      what: "turn-ended";
      thread: ThreadId;
      turn: string;
      outcome: TurnEnding;
      steps: number;
      /** Those that have replied since the worker that ended it took it up, as `provider/model`. */
      models?: string[];
      /** Of all of it, US dollars. */
      cost?: number;
      killed?: number;
      survivors?: number;
    }
  /**
   * What is in Redis is not what Heddle wrote there. `known`: the newest entry that the writer knew of; `head` and
   * `top`: the head and the highest number that it found. The chain goes on here, behind all of these.
   */
  | { what: "log-broken"; known: string; head: string; top: number; by: Speaker }
  /** So many facts since then (ms) came while the log could not be written, and did not fit into memory. */
  | { what: "facts-lost"; count: number; since: number; by: Speaker };

interface Asked {
  message: string;
  by: Speaker;
  /** A task that they planned earlier, when its time had come. */
  scheduled?: true;
}

/** An event as intake took it; undefined for what came to nothing, or changed nothing. */
export function toInboundFact(event: InboundEvent, result: IntakeResult): AuditFact | undefined {
  const by = person(event.author);
  const message = toRef(event);
  switch (result.kind) {
    case "duplicate":
    case "ignored":
      return undefined;
    case "refused":
      if (result.unchanged) return undefined;
      return { what: "refused", kind: event.kind, workspace: workspaceOf(event), message, by };
    case "accepted":
      return { what: "asked", thread: result.thread, message, by };
    case "acted":
    case "stopping":
    case "amended":
      if (result.unchanged) return undefined;
  }
  const { thread } = result;
  switch (event.kind) {
    case "edit":
      return { what: "edited", thread, message, by };
    case "delete":
      return { what: "deleted", thread, message, by };
    case "action":
      return { what: "pressed", thread, message, button: event.action, by };
    case "message":
      // A word that is an order, such as /quiet.
      if (result.kind === "acted") return { what: "ordered", thread, message, by };
      return { what: "stopped", thread, by };
    case "stop":
      return { what: "stopped", thread, by };
  }
}

/** What somebody did, as it is told apart from any contract. */
export function toAuditFact(event: AuditEvent): AuditFact {
  const by = person(event.by);
  if ("token" in event)
    return { what: event.action, token: event.token, person: event.person, role: event.role, by };
  if ("alias" in event) return { what: event.action, alias: event.alias, by };
  if ("server" in event) {
    const { action, thread, server, of } = event;
    return { what: action, ...(thread !== undefined && { thread }), server, of, by };
  }
  if ("names" in event) return { what: event.action, names: event.names, by };
  if (event.action === "signed-in") return { what: event.action, by };
  if (event.action === "setup-ended") return { what: event.action, outcome: event.outcome, by };
  if (event.action === "setting-changed") {
    const { thread: place, setting, of, was, is } = event;
    return { what: event.action, ...(place !== undefined && { thread: place }), setting, of, was, is, by };
  }
  const { action, thread } = event;
  switch (action) {
    case "decided":
    case "refused": {
      const { question, decision } = event;
      const what = action === "decided" ? action : "decision-refused";
      const rules = decision.kind === "approved" ? decision.rules : undefined;
      return {
        ...{ what, thread, question: question.id, tool: question.tool, decision: decision.kind },
        ...(rules && { rules: rules.map(({ text }) => text) }),
        by,
      };
    }
    case "continued":
      return {
        what: action,
        thread,
        turn: event.turn,
        by,
        ...(event.budget !== undefined && { budget: event.budget }),
      };
    case "schedule-planned":
    case "schedule-fired":
    case "schedule-cancelled":
      return { what: action, thread, schedule: event.schedule, by };
    case "queue-removed":
    case "queue-advanced":
    case "queue-moved":
      return { what: action, thread, message: event.message, by };
    case "approvals-cleared":
      return { what: action, thread, rules: event.rules, by };
    case "turns-undone":
      return { what: action, thread, turns: event.turns, by };
    case "undo-taken-back":
    case "thread-forked":
    case "thread-renamed":
    case "thread-archived":
    case "thread-reopened":
    case "thread-exported":
    case "thread-deleted":
    case "direct-read":
      return { what: action, thread, by };
  }
}

function workspaceOf(event: InboundEvent): string {
  const stopped = event.kind === "stop" ? event.target : event;
  const { platform, workspace } = "thread" in stopped ? stopped.thread : stopped.message;
  return `${platform}:${workspace}`;
}

function toRef(event: InboundEvent): string {
  if (event.kind !== "stop") return event.ref.message;
  return "message" in event.target ? event.target.message.message : "";
}

/** Only what names the person: roles and standing change. */
function person({ id, name }: Speaker): Speaker {
  return { id, name };
}

export function listAsked(messages: readonly UserMessage[]): Asked[] {
  return messages.map(({ id, author, scheduled }) => ({
    message: id,
    by: person(author),
    ...(scheduled && { scheduled }),
  }));
}
