import type { AgentEvent } from "../agent/events.ts";
import type { OpenTurn } from "../agent/journal/history.ts";
import type { ToolCall, ToolMessage } from "../agent/messages.ts";
import { cutOpenKey } from "../agent/secrets/open-key.ts";
import { quoteOutput } from "../chat/call-text.ts";
import { cutMarkdownStart } from "../chat/markdown.ts";
import type { CallList, GrowingText, OutboundMessage } from "../chat/outbound.ts";
import { describeCompaction, formatCount, formatDuration, renderTodoList } from "./describe.ts";
import { createToolList } from "./tool-list.ts";

/** What a turn is doing, as its progress message shows it. */
export interface WorkView {
  /** Applies an event; false when that changes nothing that is shown. */
  apply(event: AgentEvent): boolean;
  /** The message while the turn is working. */
  working(headline: string): OutboundMessage;
  /** The same as text that only grows; undefined once something was taken back that people may have read. */
  growing(): Omit<GrowingText, "reader"> | undefined;
  /** The message when it is over; null when it would say nothing beyond the answer. */
  done(headline: string | undefined): OutboundMessage | null;
}

const shownText = 1_200;

export interface WorkViewOptions {
  turn: string;
  /** Stands above what it does. */
  banner: string;
  withResults: boolean;
  /** What the turn has done so far. */
  calls: OpenTurn["calls"];
  /** Hides secrets, before anything is cut. */
  mask(text: string): string;
}

export function createWorkView(options: WorkViewOptions): WorkView {
  const { mask } = options;
  const tools = createToolList({ withResults: options.withResults, mask });
  let plan = "";
  let text = "";
  let notice = "";
  const grown = createGrownText();

  // The result of `todo` is shown as the plan.
  const showCall = (call: ToolCall, state: "running" | "pending") => {
    if (call.name !== "todo") tools.start(call, state);
  };

  const showResult = (message: ToolMessage, tookMs?: number) => {
    tools.end(message, tookMs);
    plan = renderTodoList(message) ?? plan;
  };

  for (const { call, result } of options.calls) {
    showCall(call, "pending");
    if (result) showResult(result);
  }

  const addCalls = (
    title: string,
    over: string[],
    under: string[],
  ): { markdown: string; calls?: CallList } => {
    const below = joinParagraphs(under);
    const items = tools.items();
    const { earlier } = tools;
    return {
      markdown: joinParagraphs([...over, tools.text(), quoteOutput(items), below]),
      ...((!tools.isEmpty || plan) && {
        calls: {
          ...{ title, turn: options.turn, above: joinParagraphs(over), items, below },
          ...(earlier > 0 && { earlier }),
        },
      }),
    };
  };

  return {
    apply(event) {
      switch (event.type) {
        case "step-start":
          text = grown.begin();
          break;
        case "text-delta":
          text += grown.add(event.delta);
          break;
        case "retry":
          text = grown.begin();
          notice = `${event.reason} Trying again in ${formatDuration(event.delayMs)} (attempt ${event.attempt}).`;
          break;
        case "assistant":
          grown.end();
          notice = "";
          break;
        case "tool-start":
          showCall(event.call, "running");
          break;
        case "question":
          showCall(event.call, "pending");
          break;
        case "tool-output":
          tools.print(event.callId, event.chunk);
          break;
        case "tool-end":
          showResult(event.message, event.durationMs);
          break;
        case "follow-up":
          notice = `${formatCount(event.messages.length, "new message")} picked up.`;
          break;
        case "summary":
        case "trim":
          notice = describeCompaction(event);
          break;
        case "notice":
          notice = event.text;
          break;
        case "thinking-delta":
        case "helper":
        case "nudge":
          return false;
      }
      return true;
    },

    working(headline) {
      const above = [options.banner, headline, plan];
      const said = grown.unfinished() === "" ? mask(text) : settle(mask(text));
      const below = [cutMarkdownStart(said, shownText), notice && `_${notice}_`];
      return { kind: "progress", stoppable: true, ...addCalls("Working", above, below) };
    },

    // A text that only grows has no place for what is said for a while, as that the model is tried again.
    growing: () => (notice === "" ? grown.show(plan) : undefined),

    done(headline) {
      // People have read it, and no answer has it.
      const rest =
        headline === undefined ? "" : cutMarkdownStart(settle(mask(grown.unfinished())), shownText);
      if (tools.isEmpty && !plan && !rest) return null;
      return { kind: "progress", ...nameDone(addCalls(doneTitle, [headline ?? "", plan], [rest]), headline) };
    },
  };
}

const doneTitle = "What was done";

/** Cards show their title by themselves; a list begins with it where there is no headline. */
function nameDone<T extends { markdown: string }>(shown: T, headline: string | undefined): T {
  if (headline !== undefined) return shown;
  return { ...shown, markdown: joinParagraphs([`**${doneTitle}**`, shown.markdown]) };
}

/** The text of all steps, as long as nothing of it is taken back. */
function createGrownText() {
  /** Of the steps that have ended. */
  let said = "";
  let text = "";
  let isTakenBack = false;
  return {
    /** A reply begins: where the one before has not ended, another model takes over or the same one is asked again. */
    begin(): string {
      isTakenBack ||= text !== "";
      text = "";
      return text;
    },
    add(delta: string): string {
      text += delta;
      return delta;
    },
    /** What was said of a reply that has not ended. */
    unfinished: () => text,
    end(): void {
      if (text !== "") said = `${joinParagraphs([said.trimEnd(), text])}\n\n`;
      text = "";
    },
    /** With how far the plan is as its title. */
    show(plan: string): Omit<GrowingText, "reader"> | undefined {
      if (isTakenBack) return undefined;
      const [, done] = /^\*\*Plan\*\* · (.*)$/m.exec(plan) ?? [];
      return { text: `${said}${text}`, title: done?.trim() ? `Working · ${done}` : "Working" };
    },
  };
}

/** Half a token is not recognised; so few of its characters are of no use to anybody. */
const harmlessChars = 12;

/** Without a long word at the end, and without a key that is not closed: both may yet have to be masked. */
function settle(text: string): string {
  const settled = cutOpenKey(text);
  let end = settled.length;
  while (end > 0 && /[\w.~+/=-]/.test(settled[end - 1] ?? "")) end -= 1;
  return settled.length - end < harmlessChars ? settled : settled.slice(0, end);
}

function joinParagraphs(parts: readonly string[]): string {
  return parts.filter(Boolean).join("\n\n");
}
