import type { Decision, Question } from "../../agent/questions.ts";
import {
  type InputAnswer,
  type InputField,
  type InputValue,
  listInputChoices,
  parseForm,
  readFields,
  type WrittenFields,
} from "../../agent/server-input.ts";
import type { InboundAction } from "../../chat/inbound.ts";
import type { Form } from "../../chat/outbound.ts";

type InputQuestion = Extract<Question, { kind: "input" }>;

/** What a press means: a decision, or something for the person to read or to fill in first. */
export type InputPress =
  | { decision: Decision }
  | { reply: string; isRefused: boolean; field?: string }
  | { form: Form }
  /** A part of the form, to be kept until the rest has come, with how many fields that is. */
  | { kept: WrittenFields; left: number };

/**
 * The buttons that `progress/input-question.ts` offers. Undefined where the question has no such button.
 *
 * @param draft what was put into earlier parts of the form
 */
export function readInputPress(
  { request }: InputQuestion,
  event: InboundAction,
  draft: WrittenFields = {},
): InputPress | undefined {
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
  if (press === "text") {
    const read = readForm({ title: `${request.server} asks`, fields: request.fields }, event, draft);
    return "content" in read ? decide({ action: "accept", content: read.content }) : read;
  }
  const [field] = request.fields;
  const choice = /^\d+$/.test(press) ? listInputChoices(request)[Number(press)] : undefined;
  return choice && field && decide({ action: "accept", content: { [field.name]: choice.value } });
}

/** What a press means whose button asks for a form: the whole of it, or something first. */
export type FormPress = { content: Record<string, InputValue> } | Exclude<InputPress, { decision: Decision }>;

/** A form that is wanted, or what was put into one, or into a part of it. */
export function readForm(
  form: Form,
  { text, fields, window }: Pick<InboundAction, "text" | "fields" | "window">,
  draft: WrittenFields,
): FormPress {
  const wanted = form.fields;
  const written = { ...(window?.continues && draft), ...fields };
  const left = wanted.filter(({ name }) => !Object.hasOwn(written, name));
  if (text === undefined && fields === undefined) return { form: createForm(form, left, window?.most) };
  const isPart = fields !== undefined && window !== undefined && left.length > 0;
  // What does not fit is said at once, and not after the last part.
  const judged = isPart ? wanted.filter(({ name }) => Object.hasOwn(fields, name)) : wanted;
  const read = fields ? readFields(judged, written) : parseForm(wanted, text ?? "");
  if ("problem" in read) {
    const { problem: reply, ...about } = read;
    return { reply, isRefused: true, ...about };
  }
  return isPart ? { kept: written, left: left.length } : { content: read.content };
}

/** What is said when a part of a form is kept. */
export function describeKept(left: number): string {
  return `Kept. ${left === 1 ? "One more field is" : `${left} more fields are`} asked for.`;
}

/** All that is asked for, or the next part of what is left. */
function createForm(whole: Form, left: readonly InputField[], most: number = Infinity): Form {
  const { title, fields } = whole;
  if (fields.length <= most) return whole;
  const missing = left.length > 0 ? left : fields;
  const part = Math.floor((fields.length - missing.length) / most) + 1;
  return {
    title: `${title}, ${part} of ${Math.ceil(fields.length / most)}`,
    fields: missing.slice(0, most),
  };
}
