import {
  type ChatSurface,
  type MessageMark,
  type MessageRef,
  type OutboundMessage,
  parseThreadId,
  type TaskCards,
  type ThreadId,
} from "../adapters/adapter.ts";
import type { AgentEvent, TurnOutcome } from "../agent/events.ts";
import type { ToolStatus, UserMessage } from "../agent/messages.ts";
import type { Receipt, ShownTurn, TurnDisplay } from "../queue/drive.ts";
import { platformMessage } from "../queue/amendments.ts";
import type { OutboxEntry } from "../queue/outbox.ts";
import type { OutputScheduler } from "../queue/output.ts";
import {
  checklist,
  closingMessage,
  count,
  describeCall,
  describeCompaction,
  duration,
  verdict,
} from "./describe.ts";
import { editedMessage } from "./edited-message.ts";
import { createThreadStatus } from "./thread-status.ts";

export interface ReporterOptions {
  surface: ChatSurface;
  thread: ThreadId;
  output: OutputScheduler;
  turn: ShownTurn;
  /** Stands above everything that the turn shows. */
  banner?: string;
  onProgressPosted(ref: MessageRef): Promise<void>;
  /** See `EditedMessageOptions`. */
  overtaken(): Promise<OutboundMessage | null | undefined>;
  /** For live viewers. */
  publish(event: LiveEvent): void;
  /** Shows the state of somebody's message. */
  mark(ref: MessageRef, mark: MessageMark, signal: AbortSignal): Promise<void>;
  /** Hides secrets; applied to everything that leaves. */
  mask(text: string): string;
  onProblem(problem: string, error: unknown): void;
}

/** What live viewers of a thread get: the agent's events, and the end. */
export type LiveEvent =
  | AgentEvent
  | { type: "turn-start"; turn: string; messages: string[] }
  | { type: "turn-end"; turn: string; outcome: TurnOutcome; messages: string[]; closing: OutboundMessage };

interface ToolLine {
  callId: string;
  text: string;
  status: ToolStatus | "running";
}

const shownTools = 12;
const shownText = 1_200;
const shownTail = 400;

/** Under which a turn's progress message is posted and settled. */
export function progressKey(turn: string): string {
  return `${turn}:progress`;
}

/** Turns the events of one turn into what its thread shows. */
export function createReporter(options: ReporterOptions): TurnDisplay {
  const { surface, banner = "" } = options;
  const thread = parseThreadId(options.thread);
  const { turn } = options;
  const closing = new AbortController();
  const marking: Promise<void>[] = [];
  const asked: UserMessage[] = [];
  const tools: ToolLine[] = [];
  let hiddenTools = 0;
  let plan = "";
  let step = 0;
  let text = "";
  let tail = "";
  let notice = "";

  const status = createThreadStatus(surface, thread);
  const progress = editedMessage({
    surface,
    output: options.output,
    thread,
    key: progressKey(turn.id),
    known: turn.progress,
    lookSince: turn.resumed ? turn.startedAt : undefined,
    onPosted: options.onProgressPosted,
    overtaken: options.overtaken,
    onProblem: options.onProblem,
  });

  /** What was scheduled is no message of the platform's. */
  const isMarked = ({ scheduled }: UserMessage) => !scheduled;

  const refOf = ({ id }: UserMessage): MessageRef => {
    const { platform, workspace, channel } = thread;
    return { platform, workspace, channel, message: platformMessage(id) };
  };

  /** For the moment only: the mark of the end goes through the outbox. */
  const showTaken = async (ref: MessageRef) => {
    try {
      await options.mark(ref, "taken", closing.signal);
    } catch (error) {
      if (!closing.signal.aborted) options.onProblem("A message could not be marked as taken.", error);
    }
  };

  const toolList = () => {
    const earlier = hiddenTools > 0 ? [`… ${count(hiddenTools, "earlier call")}`] : [];
    return [...earlier, ...tools.map((line) => `${sign(line.status)} ${line.text}`)].join("  \n");
  };

  const taskCards = (title: string, around: string[]): Pick<OutboundMessage, "cards"> => {
    if (tools.length === 0) return {};
    const tasks = tools.map((line) => ({
      id: line.callId,
      title: options.mask(line.text.replaceAll("`", "")),
      state: cardState(line.status),
    }));
    const hidden = hiddenTools > 0 ? ` · ${count(hiddenTools, "earlier call")}` : "";
    return {
      cards: {
        title: `${title}${hidden}`,
        tasks,
        markdown: options.mask(around.filter(Boolean).join("\n\n")),
      },
    };
  };

  const working = (): OutboundMessage => {
    const above = [banner, `⏳ **Working** · step ${step}`, plan];
    const below: string[] = [];
    if (tail) below.push(`\`\`\`\n${tail.replaceAll("```", "ʼʼʼ")}\n\`\`\``);
    if (text) below.push(text.length > shownText ? `…${text.slice(-shownText)}` : text);
    if (notice) below.push(`_${notice}_`);
    const parts = [...above, toolList(), ...below];
    return {
      kind: "progress",
      stoppable: true,
      markdown: options.mask(parts.filter(Boolean).join("\n\n")),
      ...taskCards("Working", [...above, ...below]),
    };
  };

  const apply = (event: AgentEvent) => {
    switch (event.type) {
      case "step-start":
        status.show("is thinking…");
        step = event.step;
        text = "";
        break;
      case "text-delta":
        text += event.delta;
        break;
      case "thinking-delta":
        return;
      case "retry":
        text = "";
        notice = `${event.reason} Trying again in ${duration(event.delayMs)} (attempt ${event.attempt}).`;
        break;
      case "assistant":
        notice = "";
        break;
      case "tool-start":
        status.show(`is using ${event.call.name}…`);
        // Its result is shown as the plan.
        if (event.call.name === "todo") return;
        tools.push({ callId: event.call.id, text: describeCall(event.call), status: "running" });
        if (tools.length > shownTools) {
          tools.shift();
          hiddenTools += 1;
        }
        tail = "";
        break;
      case "tool-output":
        tail = lastLines(tail + event.chunk);
        break;
      case "tool-end": {
        const line = tools.find(({ callId }) => callId === event.message.callId);
        if (line) line.status = event.message.status;
        plan = checklist(event.message) ?? plan;
        tail = "";
        break;
      }
      case "follow-up":
        notice = `${count(event.messages.length, "new message")} taken along.`;
        break;
      case "summary":
      case "trim":
        notice = describeCompaction(event);
        break;
      case "notice":
        notice = event.text;
        break;
      case "nudge":
        return;
    }
    progress.show(working());
  };

  const lastMessage = (receipt: Receipt): OutboundMessage => {
    const message = closingMessage(turn.id, receipt);
    return { ...message, markdown: options.mask([banner, message.markdown].filter(Boolean).join("\n\n")) };
  };

  return {
    took(messages) {
      asked.push(...messages);
      for (const taken of messages.filter(isMarked)) marking.push(showTaken(refOf(taken)));
      options.publish({ type: "turn-start", turn: turn.id, messages: messages.map(({ id }) => id) });
    },
    event(event) {
      options.publish(event);
      apply(event);
    },
    closing(receipt) {
      const { outcome } = receipt;
      const headline = `${verdict(outcome)} · ${count(outcome.steps, "step")} · ${duration(receipt.durationMs)}`;
      // Without a tool call the progress message has nothing to say that the answer does not.
      const last: OutboundMessage | null =
        tools.length > 0 || plan
          ? {
              kind: "progress",
              markdown: options.mask([headline, plan, toolList()].filter(Boolean).join("\n\n")),
              ...taskCards("What was done", [headline, plan]),
            }
          : null;
      const entries: Record<string, OutboxEntry> = {
        [`${turn.id}:answer`]: {
          do: "post",
          message: lastMessage(receipt),
          attempts: 0,
        },
        [progressKey(turn.id)]: { do: "settle", message: last, since: turn.startedAt },
      };
      const end = (messages: readonly UserMessage[], state: MessageMark) => {
        for (const ref of messages.filter(isMarked).map(refOf)) {
          entries[`${turn.id}:mark:${ref.message}`] = { do: "mark", ref, mark: state };
        }
      };
      end(asked, finalMark(outcome));
      end(receipt.withdrawn, "stopped");
      return entries;
    },
    async close() {
      closing.abort();
      status.end();
      await Promise.all([progress.close(), ...marking]);
    },
    ended(receipt) {
      const messages = [...asked, ...receipt.withdrawn].map(({ id }) => id);
      const { outcome } = receipt;
      options.publish({ type: "turn-end", turn: turn.id, outcome, messages, closing: lastMessage(receipt) });
    },
  };
}

function sign(status: ToolLine["status"]): string {
  switch (status) {
    case "running":
      return "▸";
    case "ok":
      return "✓";
    case "partial":
      return "◐";
    case "error":
      return "✗";
    case "stopped":
      return "■";
    case "unknown":
      return "?";
  }
}

function cardState(status: ToolLine["status"]): TaskCards["tasks"][number]["state"] {
  switch (status) {
    case "running":
      return "running";
    case "ok":
    case "partial":
      return "done";
    case "error":
    case "stopped":
    case "unknown":
      return "failed";
  }
}

function finalMark(outcome: TurnOutcome): MessageMark {
  switch (outcome.kind) {
    case "answered":
    case "refused":
    case "step-limit":
    case "budget":
      return "answered";
    case "stopped":
      return "stopped";
    case "model-error":
      return "failed";
    case "suspended":
    case "lost-lease":
      return "waiting";
  }
}

function lastLines(output: string): string {
  return output.slice(-shownTail).split("\n").slice(-4).join("\n").trimStart();
}
