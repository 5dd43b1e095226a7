import { z } from "zod";
import { inputAnswerSchema } from "../../server-input.ts";
import { parseJson } from "../../text/text.ts";
import { defineTool, type Tool } from "../../tools/tool.ts";
import type { Asker } from "./asker.ts";
import type { InputStore } from "../../contracts/input-store.ts";
import type { Unanswered } from "./elicitation.ts";

const answerToolName = "answer_server";

/** Puts to the person what a server has asked during a call; the call is then made again. */
export function createAnswerTool(store: InputStore, asker: Asker | undefined): Tool {
  const find = async (id: string) => asker && (await store.find(asker.person, id));
  return defineTool({
    name: answerToolName,
    description:
      "Puts to the person who gave you this task what an MCP server has asked during a call, by the id in that call's result. Afterwards make the call again: the server gets the answer when it asks the same.",
    input: z.object({ question: z.string().regex(/^[0-9a-f]{12}$/) }),
    effect: "read",
    async review({ question }) {
      const request = await find(question);
      if (!request) return { action: "deny", why: "no server has asked a question with this id." };
      return { action: "ask", why: `${request.server} asks.`, input: request };
    },
    async run({ question }, { answer }) {
      const request = await find(question);
      const parsed = inputAnswerSchema.safeParse(parseJson(answer?.text ?? ""));
      if (!asker || !request || !parsed.success)
        return {
          status: "error",
          text: "Nobody has answered; make the call again, and the server asks again.",
        };
      await store.answer(asker.person, question, parsed.data);
      const text =
        parsed.data.action === "accept"
          ? `${asker.name} has answered. Make the call at ${request.server} again, with the same arguments.`
          : `${asker.name} has declined what ${request.server} asked. Leave the call, unless it makes sense without.`;
      return { status: "ok", text };
    },
  });
}

/** What the result of a call says of the questions that its server asked in it. */
export function describeUnanswered(server: string, unanswered: readonly Unanswered[]): string {
  return unanswered
    .map((each) =>
      "problem" in each
        ? `\n[During this call the MCP server ${server} asked for ${each.problem}; it was told that nobody answers.]`
        : `\n[During this call the MCP server ${server} asked the person something and was told that nobody has answered yet; above is what it made of that. ${answerToolName} with {"question":"${each.id}"} puts it to the person.]`,
    )
    .join("");
}
