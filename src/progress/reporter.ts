import {
  type ChatSurface,
  type MessageMark,
  type MessageRef,
  type OutboundMessage,
  parseThreadId,
  type ThreadId,
} from "../adapters/adapter.ts";
import type { AgentEvent, TurnOutcome } from "../agent/events.ts";
import type { ToolStatus, UserMessage } from "../agent/messages.ts";
import type { Receipt, TurnDisplay } from "../queue/drive.ts";
import { outboxEntry } from "../queue/outbox.ts";
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

export interface ReporterOptions {
  surface: ChatSurface;
  thread: ThreadId;
  turn: string;
  /** The progress message, when an earlier worker has posted it. */
  progress: MessageRef | undefined;
  onProgressPosted(ref: MessageRef): Promise<void>;
  /** For live viewers. */
  publish(event: LiveEvent): void;
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

/** Turns the events of one turn into what its thread shows. */
export function createReporter(options: ReporterOptions): TurnDisplay {
  const { surface } = options;
  const thread = parseThreadId(options.thread);
  const asked: UserMessage[] = [];
  const tools: ToolLine[] = [];
  let hiddenTools = 0;
  let plan = "";
  let step = 0;
  let text = "";
  let tail = "";
  let notice = "";

  const message = editedMessage({
    surface,
    thread,
    key: `${options.turn}:progress`,
    known: options.progress,
    onPosted: options.onProgressPosted,
    onProblem: options.onProblem,
  });

  const mark = async (messages: readonly UserMessage[], state: MessageMark) => {
    const { platform, workspace, channel } = thread;
    await Promise.all(
      messages.map(async ({ id }) => {
        try {
          await surface.mark({ platform, workspace, channel, message: id }, state);
        } catch (error) {
          options.onProblem(`A message could not be marked as ${state}.`, error);
        }
      }),
    );
  };

  const toolList = () => {
    const earlier = hiddenTools > 0 ? [`… ${count(hiddenTools, "earlier call")}`] : [];
    return [...earlier, ...tools.map((line) => `${sign(line.status)} ${line.text}`)].join("  \n");
  };

  const working = (): OutboundMessage => {
    const parts = [`⏳ **Working** · step ${step}`, plan, toolList()];
    if (tail) parts.push(`\`\`\`\n${tail.replaceAll("```", "ʼʼʼ")}\n\`\`\``);
    if (text) parts.push(text.length > shownText ? `…${text.slice(-shownText)}` : text);
    if (notice) parts.push(`_${notice}_`);
    return { kind: "progress", stoppable: true, markdown: options.mask(parts.filter(Boolean).join("\n\n")) };
  };

  const apply = (event: AgentEvent) => {
    switch (event.type) {
      case "step-start":
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
    message.show(working());
  };

  return {
    took(messages) {
      asked.push(...messages);
      void mark(messages, "taken");
      options.publish({ type: "turn-start", turn: options.turn, messages: messages.map(({ id }) => id) });
    },
    event(event) {
      options.publish(event);
      apply(event);
    },
    closing(receipt) {
      const closing = closingMessage(receipt);
      return {
        [`${options.turn}:answer`]: outboxEntry({ ...closing, markdown: options.mask(closing.markdown) }),
      };
    },
    abandon: () => message.abandon(),
    async close(receipt: Receipt) {
      const { outcome } = receipt;
      const headline = `${verdict(outcome)} · ${count(outcome.steps, "step")} · ${duration(receipt.durationMs)}`;
      const last: OutboundMessage = {
        kind: "progress",
        markdown: options.mask([headline, plan, toolList()].filter(Boolean).join("\n\n")),
      };
      // Without a tool call the progress message has nothing to say that the answer does not.
      await message.finish(tools.length > 0 || plan ? last : undefined);
      await mark([...asked, ...receipt.withdrawn], finalMark(outcome));
      const messages = [...asked, ...receipt.withdrawn].map(({ id }) => id);
      options.publish({
        type: "turn-end",
        turn: options.turn,
        outcome,
        messages,
        closing: closingMessage(receipt),
      });
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
