import { z } from "zod";
import type { Author } from "../../../chat/inbound.ts";
import { parseThreadId } from "../../../chat/threads.ts";
import type { NeedLine, QuestionLine } from "../../../operations/operations.ts";
import type { PressedButton } from "../conversations/intake.ts";
import { type Reply, replyJson, replyProblem } from "../server/http.ts";
import type { Services } from "../services.ts";
import { hideDirect, hideQuestion, mayRead } from "./role-check.ts";
import { type ApiCall, type Caller, type Route, withBody } from "./route.ts";
import { intakeResult } from "./schemas/answers.ts";
import { decision } from "./schemas/requests.ts";
import { need, questionLine } from "./schemas/threads.ts";
import { withThread } from "./with-thread.ts";

/** What waits for a person, and deciding about it. */
export const questionRoutes: readonly Route[] = [
  {
    method: "GET",
    path: "/api/v1/questions",
    needs: "read",
    summary: "What agents ask people and nobody has decided",
    answers: z.array(questionLine),
    answer: questions,
  },
  {
    method: "GET",
    path: "/api/v1/needs",
    needs: "read",
    summary: "All that goes on only when a person does something",
    answers: z.array(need),
    answer: needs,
  },
  {
    method: "POST",
    path: "/api/v1/sessions/:thread/questions/:question",
    needs: "work",
    summary: "Decides about a call, or answers a question",
    body: decision.schema,
    answers: intakeResult,
    answer: decide,
  },
];

/** What waits for a person. */
export interface Need extends NeedLine {
  /** Only this person can answer it, where they were asked. */
  boundTo?: string;
}

async function needs(services: Services, call: ApiCall): Promise<Reply> {
  const { author } = call.person;
  const all = (await services.operations.needs()).map((line): Need => {
    const shown = hideDirect(services, call, line);
    const { question } = shown;
    if (!question) return shown;
    const isBound = shown !== line || isForAnother(question, author);
    return isBound ? { ...shown, boundTo: question.requester } : shown;
  });
  return replyJson(200, all);
}

async function questions(services: Services, call: ApiCall): Promise<Reply> {
  const all = await services.operations.questions();
  return replyJson(
    200,
    all.map((question) => (mayRead(services, call, question.thread) ? question : hideQuestion(question))),
  );
}

/** What the agent asks one person nobody else answers; servers are answered, and accounts connected, in the thread alone. */
function isForAnother({ kind, platform, requesterId, isOwners }: QuestionLine, author: Author): boolean {
  if (kind === "account" || kind === "input") return true;
  return (kind === "choice" || isOwners) && !(platform === "local" && requesterId === author.id);
}

/** Decides about a call, or answers what the agent asks somebody at the console. */
export function decide(services: Services, call: ApiCall): Promise<Reply | null> {
  return decideOpenQuestion(services, call, (act) => withBody(call, decision, act));
}

/** The second of the call's parameters names the question. `withDecision` has it decided once it is seen to be open. */
export function decideOpenQuestion(
  services: Services,
  call: Caller,
  withDecision: (act: (decided: Decision) => Promise<Reply>) => Promise<Reply>,
): Promise<Reply | null> {
  const id = call.parameters[1] ?? "";
  return withThread(services, call, async (thread) => {
    const open = await services.operations.questions(thread);
    const found = open.find((question) => question.id === id);
    if (!found) return replyProblem(404, "No such question is open: it may have been decided.");
    if (!mayRead(services, call, thread))
      return replyProblem(403, "Whoever may not read this direct message cannot decide about it either.");
    if (isForAnother(found, call.person.author))
      return replyProblem(409, `Only ${found.decides} can answer this, in the thread.`);
    return await withDecision(async (decided) => {
      if ((decided.decision === "answer") !== (found.kind === "choice"))
        return replyProblem(409, "This question is decided in another way.");
      if (decided.decision === "approve" && decided.forThread && found.forThread.length === 0)
        return replyProblem(409, "This call must be approved by itself, not for the whole thread.");
      const button = { ...toButton(decided, id), message: id };
      return replyJson(
        200,
        await services.intake.pressAnywhere(parseThreadId(thread), button, call.person.author),
      );
    });
  });
}

type Decision = z.infer<typeof decision.schema>;

/** As the question's message offers it. */
function toButton(decided: Decision, id: string): Omit<PressedButton, "message"> {
  switch (decided.decision) {
    case "approve":
      return { action: decided.forThread ? `approve-thread:${id}` : `approve:${id}` };
    case "deny":
      return { action: `deny:${id}`, ...(decided.reason !== undefined && { text: decided.reason }) };
    case "answer":
      return decided.choice === undefined
        ? { action: `answer:${id}`, text: decided.text ?? "" }
        : { action: `answer:${id}:${decided.choice}` };
  }
}
