import { consoleAuthor } from "../adapters/console/conversations/intake.ts";
import { createAppContext } from "../app/context.ts";
import { explainResult, type Intake } from "../chat/inbound.ts";
import { parseThreadId } from "../chat/threads.ts";
import type { QuestionLine } from "../operations/operations.ts";
import { listQuestions } from "../operations/questions/questions.ts";
import { createCommandContext, UsageError } from "./context.ts";
import { printResult } from "./print-result.ts";

/** Lists what agents ask people on any platform. */
export async function printQuestions({ json }: { json?: true }): Promise<number> {
  return await withQuestions(async (questions) => {
    printResult(json, { questions }, questions.map(describe).join("\n\n") || "Nothing waits for a decision.");
    return 0;
  });
}

/** Decides about a call as the operator. */
export async function decideFromTerminal(
  verb: "approve" | "deny",
  thread: string,
  id: string,
  { reason = "", forThread, json }: { reason?: string; forThread?: true; json?: true } = {},
): Promise<number> {
  return await withQuestions(async (questions, intake) => {
    const found = questions.find((question) => question.thread === thread && question.id === id);
    if (!found) throw new UsageError("No such question is open; see heddle questions list.");
    if (forThread && found.forThread.length === 0)
      throw new UsageError("This call must be approved by itself: leave --for-thread out.");
    const problem = await decide(intake, found, forThread ? "approve-thread" : verb, reason);
    const text = problem ?? (verb === "approve" ? "Approved." : "Denied.");
    const facts = { thread, id, decided: problem === undefined, ...(problem && { problem }) };
    printResult(json, facts, text);
    return problem ? 1 : 0;
  });
}

async function withQuestions(
  work: (questions: QuestionLine[], intake: Intake) => Promise<number>,
): Promise<number> {
  const setup = await createCommandContext("warn");
  const context = await createAppContext(setup);
  try {
    const mask = (text: string) => setup.masker.mask(text);
    const { redis, config, intake } = context;
    return await work(await listQuestions(redis, config.settings.access.approve, mask, Date.now()), intake);
  } finally {
    await context.close();
  }
}

/** Gives why it was refused. */
async function decide(
  intake: Intake,
  { id, kind, thread, decides, isOwners }: QuestionLine,
  verb: "approve" | "approve-thread" | "deny",
  text: string,
): Promise<string | undefined> {
  if (kind === "choice" || isOwners) throw new UsageError(`Only ${decides} can answer this, in the thread.`);
  const place = parseThreadId(thread);
  const { platform, workspace, channel } = place;
  const result = await intake.receive({
    ...{ kind: "action", thread: place, action: `${verb}:${id}`, at: Date.now() },
    ref: { platform, workspace, channel, message: id },
    author: { ...consoleAuthor(), id: "operator" },
    tellsRefusal: true,
    ...(text && { text }),
  });
  return explainResult(result);
}

function describe(question: QuestionLine): string {
  const { thread, id, kind, tool, text, call, note, forThread, decides, since, until } = question;
  const time = (at: number) => new Date(at).toISOString();
  const head = `${thread}  ${id}  ${kind === "approval" ? `May ${tool} run?` : "Question:"} ${text}`;
  const who = `decided by ${decides} · since ${time(since)} · until ${time(until)}`;
  const shown = call === "" ? [] : call.split("\n").map((line) => `  │ ${line}`);
  const all =
    forThread.length > 0
      ? `  --for-thread: from now on, ${forThread.join(" and ")} runs there without asking`
      : "";
  return [head, `  ${who}`, ...shown, ...(note ? [`  ${note}`] : []), ...(all ? [all] : [])].join("\n");
}
