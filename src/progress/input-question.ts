import { removeHidden } from "../agent/text/hidden-characters.ts";
import type { Question } from "../agent/questions.ts";
import { quoteLines } from "../agent/text/quote-lines.ts";
import { describeExpected, type InputField, listInputChoices } from "../agent/server-input.ts";
import { cutText } from "../agent/text/text.ts";
import { escapeMarkdown } from "../chat/escape-markdown.ts";
import type { ActionButton } from "../chat/outbound.ts";
import { toInlineCode } from "../chat/visible-call.ts";

type InputQuestion = Extract<Question, { kind: "input" }>;

/** Renders what an MCP server asks a person. Its words are quoted: nobody has checked them. */
export function describeInput({ request, requester }: InputQuestion, mask: (text: string) => string): string {
  const head = `❓ **${escapeMarkdown(removeHidden(request.server))}** asks ${escapeMarkdown(requester.name)}:`;
  const said = quoteLines(escapeMarkdown(cutText(mask(request.message), 1_500))).join("\n");
  if (request.mode === "url")
    return `${head}\n${said}\nIt wants you to open a page at ${toInlineCode(new URL(request.url).host)}. The address is shown to you alone.`;
  const fields = listInputChoices(request).length > 0 ? [] : request.fields.map(describeField);
  const how =
    request.fields.length > 1 ? ["**Answer…** asks for them. Write no secrets: others can read this."] : [];
  return [head, said, ...fields, ...how].join("\n");
}

function describeField(field: InputField): string {
  const { title, name, about, required } = field;
  const label = title === name ? toInlineCode(name) : `${toInlineCode(name)} ${escapeMarkdown(title)}`;
  const expected = escapeMarkdown(describeExpected(field));
  return `- ${label}: ${expected}${required ? "" : ", may be left out"}${about ? ` · ${escapeMarkdown(about)}` : ""}`;
}

/** `intake/questions/input-decisions.ts` reads their ids. */
export function createInputButtons({ id, request }: InputQuestion): ActionButton[] {
  const decline: ActionButton = { id: `input:${id}:decline`, label: "Decline", style: "plain" };
  if (request.mode === "url")
    return [
      { id: `input:${id}:link`, label: "Show the address", style: "primary" },
      { id: `input:${id}:done`, label: "I have done it", style: "plain" },
      decline,
    ];
  const choices = listInputChoices(request);
  if (choices.length > 0)
    return [
      ...choices.map(
        ({ label }, index): ActionButton => ({
          id: `input:${id}:${index}`,
          label: cutText(removeHidden(label), 60),
          style: "plain",
        }),
      ),
      decline,
    ];
  const asksFor =
    request.fields.length === 1 ? (request.fields[0]?.title ?? "") : "A line “name: value” for each";
  const inputs = request.fields.length;
  return [{ id: `input:${id}:text`, label: "Answer…", style: "primary", asksFor, inputs }, decline];
}
