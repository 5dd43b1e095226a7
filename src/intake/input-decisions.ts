import type { Decision, Question } from "../agent/questions.ts";
import { type InputAnswer, listInputChoices, parseForm } from "../agent/server-input.ts";
import type { InboundAction } from "../chat/inbound.ts";

type InputQuestion = Extract<Question, { kind: "input" }>;

/** What a press means: a decision, or something for the person to read first. */
export type InputPress = { decision: Decision } | { reply: string; isRefused: boolean };

/** The buttons that `progress/input-question.ts` offers. Undefined where the question has no such button. */
export function readInputPress(
  { request }: InputQuestion,
  { action, author, at, text = "" }: InboundAction,
): InputPress | undefined {
  const [, press = ""] = /^input:\w+:(\w+)$/.exec(action) ?? [];
  const decide = (answer: InputAnswer): InputPress => {
    const by = { id: author.id, name: author.name };
    return { decision: { kind: "answered", by, text: JSON.stringify(answer), at } };
  };
  if (press === "decline") return decide({ action: "decline" });
  if (request.mode === "url") {
    if (press === "done") return decide({ action: "accept" });
    const { host } = new URL(request.url);
    const reply = `${request.server} wants you to open a page at ${host}. Open it only if you trust that address:\n${request.url}\nThen press “I have done it”.`;
    return press === "link" ? { reply, isRefused: false } : undefined;
  }
  const [field] = request.fields;
  const choice = /^\d+$/.test(press) ? listInputChoices(request)[Number(press)] : undefined;
  if (choice && field) return decide({ action: "accept", content: { [field.name]: choice.value } });
  if (press !== "text") return undefined;
  const read = parseForm(request.fields, text);
  return "problem" in read
    ? { reply: read.problem, isRefused: true }
    : decide({ action: "accept", content: read.content });
}
