import type { ChatPostMessageArguments } from "@slack/web-api";
import type { BaseLogger } from "pino";
import type { z } from "zod";
import type { PromptChoice } from "../../../agent/messages.ts";
import type { Author, ContextMessage, InboundEvent, Intake, IntakeResult } from "../../../chat/inbound.ts";
import { cutMarkdown } from "../../../chat/markdown.ts";
import { lacksChoice, type TaskChoices } from "../../../chat/task-choices.ts";
import type { ThreadRef } from "../../../chat/threads.ts";
import type { TeamConnection } from "../connection/team.ts";
import { refusalCode } from "../connection/web.ts";
import { findPosted } from "../surface/find-posted.ts";
import { createMetadata } from "../surface/metadata.ts";
import { toQuote, writtenSchema } from "../surface/quotes.ts";
import { escapeMentions, escapeText, messageChars, toMrkdwn } from "../surface/render.ts";
import { parseTs } from "./events.ts";
import { resolveChannel } from "./interactions.ts";
import type { pointSchema } from "./modals.ts";

/** What tasks are handed in to. */
export interface TaskDeps {
  intake: Intake;
  mayAsk(teamId: string, author: Author): boolean;
  choices(place: ThreadRef, author: Author): Promise<TaskChoices>;
  log: BaseLogger;
}

/** A task that was given without a message of its own. */
export interface Question {
  author: Author;
  channel: string;
  text: string;
  /** The thread to ask in; without it the question begins a thread. */
  thread?: string;
  about?: ContextMessage;
  options?: Options;
  /** By which the question that was posted for it is found again, when Slack tells of it a second time. */
  reaction?: { thread: string; key: string; at: number };
}

/** What is chosen for a task. */
export interface Options {
  model?: string;
  skill?: string;
  prompt?: PromptChoice;
}

/** Posts the question and hands it in; gives a sentence for the person if that failed, or may have. */
export async function ask(
  team: TeamConnection,
  { intake, mayAsk, choices, log }: TaskDeps,
  question: Question,
): Promise<string | undefined> {
  const { author, channel, options = {} } = question;
  const findChoices = () => choices(toEvent(team, question, takeTime()).thread, author);
  if (!mayAsk(team.identity.teamId, author) || (await lacksChoice(options, findChoices)))
    return answerAlone(team, { intake }, question);
  const earlier = question.reaction && (await findEarlier(team, channel, question.reaction));
  const asked =
    earlier ?? (await postQuestion(team, question).catch((error: unknown) => explainRefusal(error)));
  if ("problem" in asked) return asked.problem;
  const posted = earlier ?? (await settleQuestion(team, question, asked));
  const event = toEvent(team, question, posted);
  let result: IntakeResult;
  try {
    result = await intake.receive(event);
  } catch (error) {
    // It may be stored all the same, and begins under its question then, which so stays. Slack tells of a reaction again,
    // and the question is found.
    if (question.reaction) throw error;
    log.error(
      { err: error },
      "It is not certain whether a task from Slack was stored; its person is told so.",
    );
    return notConfirmed;
  }
  // Intake posts the reply of a refusal in the thread.
  if (result.kind !== "ignored") return undefined;
  await team.client.chat.delete({ channel, ts: posted.ts }).catch(() => undefined);
  return `That was not taken: ${result.why}.`;
}

const notConfirmed =
  "I could not make sure that this was taken. If it was, I answer under your question in a moment: look there before you ask again.";

/**
 * The question that stands for the reaction, where another process was told of it too and has posted one at the same time:
 * the first one, for both. The other is taken back.
 */
async function settleQuestion(
  team: TeamConnection,
  { channel, reaction }: Question,
  own: { ts: string },
): Promise<{ ts: string }> {
  if (!reaction) return own;
  const first = await findEarlier(team, channel, reaction).catch(() => undefined);
  if (!first || first.ts === own.ts) return own;
  await team.client.chat.delete({ channel, ts: own.ts }).catch(() => undefined);
  return first;
}

/** The question that was posted when Slack told of it before: an event that was not acknowledged comes again. */
async function findEarlier(
  { client, identity }: TeamConnection,
  channel: string,
  { thread, key, at }: NonNullable<Question["reaction"]>,
): Promise<{ ts: string } | undefined> {
  const place = { platform: "slack", workspace: identity.teamId, channel, thread };
  const [ts] = await findPosted(client, place, key, at);
  return ts === undefined ? undefined : { ts };
}

/** Hands in what nobody else sees. Without a message of its own there is nothing in the channel to answer. */
export async function answerAlone(
  team: TeamConnection,
  { intake }: Pick<TaskDeps, "intake">,
  question: Question,
): Promise<string> {
  const result = await intake.receive({ ...toEvent(team, question, takeTime()), tellsRefusal: true });
  const reply = result.kind === "refused" || result.kind === "acted" ? result.reply : undefined;
  return reply ?? "That was not taken.";
}

/** Stands for a message that is not posted. */
function takeTime(): { ts: string } {
  return { ts: (Date.now() / 1_000).toFixed(6) };
}

function toEvent(
  team: TeamConnection,
  { author, channel, text, thread, about, options }: Question,
  { ts }: { ts: string },
): Extract<InboundEvent, { kind: "message" }> {
  const place = resolveChannel(team, channel);
  return {
    kind: "message",
    thread: { ...place, thread: thread ?? ts },
    ref: { ...place, message: ts },
    author,
    text,
    attachments: [],
    ...(about && { about }),
    ...(options && { options }),
    addressed: channel.startsWith("D") ? "direct" : "mention",
    at: parseTs(ts),
  };
}

/** Mentions the person, so that Slack notifies them about the thread, which the bot has begun. */
async function postQuestion(
  team: TeamConnection,
  { author, channel, text, thread, about, options = {}, reaction }: Question,
): Promise<{ ts: string }> {
  const { model, skill, prompt } = options;
  const chosen = Object.entries({
    model,
    skill,
    prompt: prompt && `${prompt.server}/${prompt.name}`,
  }).flatMap(([name, value]) => (value ? [`${name} ${escapeText(escapeMentions(value))}`] : []));
  const how = chosen.length > 0 ? ` (${chosen.join(", ")})` : "";
  const heading = `<@${author.id}> asks${about ? " about a message" : ""}${how}:`;
  const shown = cutMarkdown(escapeMentions(text), messageChars);
  const question: ChatPostMessageArguments = {
    channel,
    ...(thread !== undefined && { thread_ts: thread }),
    text: `${heading} ${escapeText(shown)}`.slice(0, 3_000),
    blocks: [
      { type: "section", text: toMrkdwn(heading) },
      { type: "markdown", text: shown },
    ],
    unfurl_links: false,
    unfurl_media: false,
    ...(reaction && { metadata: createMetadata({ key: `${reaction.key}#0` }) }),
  };
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- this is no window
  const { ts } = await team.client.chat.postMessage(question);
  if (ts === undefined) throw new Error("Slack's answer has no ts.");
  return { ts };
}

/** @throws the error, unless it is a refusal by Slack */
function explainRefusal(error: unknown): { problem: string } {
  const code = refusalCode(error);
  switch (code) {
    case undefined:
      throw error;
    case "not_in_channel":
    case "channel_not_found":
      return { problem: "I am not in this conversation: invite me with /invite, then ask again." };
    default:
      return { problem: `Slack does not let me write here (${code}).` };
  }
}

/**
 * Reads the message that the task is about, with its thread, and with that again as `active` where it has replies; gives
 * a sentence for the person if that failed.
 */
export async function readMessage(
  team: TeamConnection,
  { channel, message: ts }: z.infer<typeof pointSchema>,
): Promise<{ about: ContextMessage; thread: string; active: string | undefined } | string> {
  try {
    const { messages = [] } = await team.client.conversations.replies({ channel, ts, limit: 1 });
    const [message] = messages;
    if (!message) return "That message is no longer there.";
    const { teamId, botUserId } = team.identity;
    const written = writtenSchema.parse(message);
    const about = await toQuote(written, { people: team.people, team: teamId, botUserId });
    return { about, thread: written.thread_ts ?? ts, active: written.thread_ts };
  } catch (error) {
    const code = refusalCode(error);
    if (code === undefined) throw error;
    if (code === "thread_not_found" || code === "message_not_found")
      return "That message is no longer there.";
    return explainRefusal(error).problem;
  }
}
