import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isContextMessage } from "../../loop/prompt/context-messages.ts";
import {
  type AssistantMessage,
  type AssistantPart,
  heddle,
  type Message,
  toolCalls,
  type UserMessage,
} from "../../messages.ts";
import {
  type LanguageModel,
  type ModelEvent,
  type ModelLimits,
  type ModelRequest,
  noUsage,
} from "../../model.ts";
import { loadScripts, placeholder, type Script, type Scripts, type ScriptStep } from "./scripts.ts";

const limits: ModelLimits = {
  contextTokens: 128_000,
  maxOutputTokens: 8_192,
  images: false,
  price: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
};

const notice =
  "This is Heddle's demo model: it plays prepared scripts and understands nothing else. " +
  "For a real model, set `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or `MINIMAX_API_KEY` in `.env`: it answers within seconds, with compose once Heddle was started again.";

/**
 * A model that needs no key and no network: it plays scripts, so that a newcomer sees real tool calls, live
 * progress and a stop. `scriptsDir` defaults to the scripts beside this file, `stepDelayMs` is the pause
 * before each word. Throws when a script is not in the format that the scripts' README describes.
 */
export function createDemoModel(options: { scriptsDir?: string; stepDelayMs?: number } = {}): LanguageModel {
  const { scriptsDir = join(import.meta.dirname, "scripts"), stepDelayMs = 15 } = options;
  const scripts = loadScripts(scriptsDir);

  return {
    id: "demo",
    limits,
    async *stream(request, signal): AsyncGenerator<ModelEvent, void, undefined> {
      const message = createReply(scripts, request);
      for (const part of message.parts) {
        if (part.type === "tool-call") continue;
        for (const delta of part.text.split(/(?<=\s)(?=\S)/)) {
          // The signal's own reason is thrown below instead of the timer's AbortError.
          if (stepDelayMs > 0) await sleep(stepDelayMs, undefined, { signal }).catch(() => undefined);
          signal.throwIfAborted();
          yield { type: part.type, delta };
        }
      }
      signal.throwIfAborted();
      const input = estimateRoughly([request.system, ...request.messages.map(readText)]);
      const usage = { ...noUsage, input, output: estimateRoughly([readText(message)]), calls: 1 };
      yield { type: "done", message, usage };
    },
  };
}

/** The next reply follows from the history alone, so a turn that another process resumes goes on where it was. */
function createReply(scripts: Scripts, request: ModelRequest): AssistantMessage {
  const { step, said } = findCue(scripts, request.messages);
  const forbidden = request.toolChoice === "none";
  const parts = forbidden ? [toTextPart(notice)] : toParts(step, said, request.messages);
  const stop = parts.some((part) => part.type === "tool-call") ? "tool-calls" : "end";
  return { role: "assistant", id: randomUUID(), parts, model: "demo", stop };
}

/** Where the conversation stands: the step to play and the message that it answers. */
function findCue(
  scripts: Scripts,
  messages: readonly Message[],
): { step: ScriptStep; said: UserMessage | undefined } {
  let script: Script = scripts.fallback;
  let played = 0;
  let said: UserMessage | undefined;
  let running = false;
  for (const message of messages) {
    if (isContextMessage(message)) continue;
    if (message.role === "assistant") {
      played += 1;
      running &&= toolCalls(message).length > 0;
    } else if (message.role === "user" && message.author.id === heddle.id) {
      // Heddle's own words say that the turn was stopped or cut short.
      running = false;
    } else if (message.role === "user") {
      const match = scripts.scripts.find((candidate) => candidate.matches(message.text));
      // Messages that arrive while a script runs do not interrupt it.
      if (match === undefined && running) continue;
      script = match ?? scripts.fallback;
      said = message;
      played = 0;
      running = true;
    }
  }
  // Past the end when the history was summarised or somebody asks again: the last answer is repeated.
  const step = script.steps[Math.min(played, script.steps.length - 1)];
  if (step === undefined) throw new Error("A demo script without steps was loaded.");
  return { step, said };
}

function toParts(
  step: ScriptStep,
  said: UserMessage | undefined,
  messages: readonly Message[],
): AssistantPart[] {
  const parts: AssistantPart[] = [];
  const answers = step.calls.length === 0;
  if (step.thinking !== undefined) {
    parts.push({ type: "thinking", text: fill(step.thinking, said, messages), protocol: "demo", raw: null });
  }
  if (step.text !== undefined) {
    const filled = fill(step.text, said, messages);
    const introduce = answers && !filled.includes(notice) && !hasAnswered(messages);
    parts.push(toTextPart(introduce ? `${notice}\n\n${filled}` : filled));
  }
  for (const { tool, input } of step.calls) {
    parts.push({ type: "tool-call", call: { id: `demo_${randomUUID()}`, name: tool, input } });
  }
  return parts;
}

/** Whether the thread was already told that this is a demo. */
function hasAnswered(messages: readonly Message[]): boolean {
  return messages.some(
    (message) =>
      message.role === "summary" || (message.role === "assistant" && toolCalls(message).length === 0),
  );
}

function fill(text: string, said: UserMessage | undefined, messages: readonly Message[]): string {
  return text.replaceAll(placeholder, (_match, name: string) => {
    switch (name) {
      case "user":
        return said?.text ?? "";
      case "author":
        return said?.author.name ?? "";
      case "notice":
        return notice;
      default: {
        const results = messages.filter((message) => message.role === "tool");
        return results.at(-Number(name.slice("result:".length)))?.text ?? "(no result)";
      }
    }
  });
}

function toTextPart(text: string): AssistantPart {
  return { type: "text", text };
}

function readText(message: Message): string {
  if (message.role !== "assistant") return message.text;
  return message.parts
    .map((part) => (part.type === "tool-call" ? JSON.stringify(part.call.input) : part.text))
    .join("");
}

/** Four characters a token is near enough for a model that costs nothing. */
function estimateRoughly(texts: readonly string[]): number {
  return Math.ceil(texts.reduce((sum, text) => sum + text.length, 0) / 4);
}
