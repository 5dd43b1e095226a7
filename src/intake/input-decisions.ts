import type { Decision, Question } from "../agent/questions.ts";
import { type InputAnswer, listInputChoices, parseForm, readFields } from "../agent/server-input.ts";
import type { InboundAction } from "../chat/inbound.ts";
import type { Form } from "../chat/outbound.ts";

type InputQuestion = Extract<Question, { kind: "input" }>;

/** What a press means: a decision, or something for the person to read or to fill in first. */
export type InputPress =
  | { decision: Decision }
  | { reply: string; isRefused: boolean; field?: string }
  | { form: Form };

/** The buttons that `progress/input-question.ts` offers. Undefined where the question has no such button. */
export function readInputPress({ request }: InputQuestion, event: InboundAction): InputPress | undefined {
  const { action, author, at } = event;
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
  if (press === "text") return readForm(request, event, decide);
  const [field] = request.fields;
  const choice = /^\d+$/.test(press) ? listInputChoices(request)[Number(press)] : undefined;
  return choice && field && decide({ action: "accept", content: { [field.name]: choice.value } });
}

/** A form that is wanted, or what was put into one. */
function readForm(
  { server, fields: wanted }: Extract<InputQuestion["request"], { mode: "form" }>,
  { text, fields }: Pick<InboundAction, "text" | "fields">,
  decide: (answer: InputAnswer) => InputPress,
): InputPress {
  if (text === undefined && fields === undefined)
    return { form: { title: `${server} asks`, fields: wanted } };
  const read = fields ? readFields(wanted, fields) : parseForm(wanted, text ?? "");
  if (!("problem" in read)) return decide({ action: "accept", content: read.content });
  const { problem: reply, ...about } = read;
  return { reply, isRefused: true, ...about };
}
