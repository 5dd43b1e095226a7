import type { App, types } from "@slack/bolt";
import type { ChatPostMessageArguments } from "@slack/web-api";
import { z } from "zod";
import type { Author, ContextMessage, InboundEvent, Intake } from "../../../chat/inbound.ts";
import type { PromptChoice } from "../../../agent/messages.ts";
import { cutMarkdown } from "../../../chat/markdown.ts";
import { followPrompt, readPromptChoice } from "../../../chat/prompt-choice.ts";
import { lacksChoice, type TaskChoices } from "../../../chat/task-choices.ts";
import { isForChannels, readCommandTask, readThreadCommand } from "../../../chat/thread-command.ts";
import type { ThreadRef } from "../../../chat/threads.ts";
import type { ConnectionOf, TeamConnection } from "../connection/team.ts";
import { refusalCode } from "../connection/web.ts";
import { aboutShortcut, slashCommand } from "../installation/manifest.ts";
import { findPosted } from "../surface/find-posted.ts";
import { createMetadata } from "../surface/metadata.ts";
import { toQuote, writtenSchema } from "../surface/quotes.ts";
import { toPlainText } from "../surface/plain-text.ts";
import { escapeMentions, escapeText, messageChars, toMrkdwn } from "../surface/render.ts";
import { parseTs } from "./events.ts";
import type { InTime } from "./in-time.ts";
import { openModal, resolveChannel } from "./interactions.ts";
import { aboutModal, askAbout, pointSchema, problemInModal, readRemembered, readText } from "./modals.ts";
import { readableText } from "./text.ts";

const commandSchema = z.object({ user_id: z.string(), channel_id: z.string(), text: z.string().default("") });

const shortcutSchema = z.object({
  user: z.object({ id: z.string() }),
  channel: z.object({ id: z.string() }),
  message: z.object({ ts: z.string(), thread_ts: z.string().optional() }),
  trigger_id: z.string(),
});

const userSchema = z.object({ user: z.object({ id: z.string() }) });

const help = [
  `\`${slashCommand} <task>\` starts a thread for the task here. In the thread you need no command: just write.`,
  `\`${slashCommand} model:<name> skill:<name> <task>\` also chooses the model and the skill for it.`,
  `\`${slashCommand} prompt:<server>/<name> <argument>=<value> <task>\` begins it with a prompt of an MCP server; \`${slashCommand} prompt\` lists them.`,
  `\`${slashCommand} plan: <task>\` puts a plan to you first, and changes nothing before you approve it.`,
  "In a thread, `stop`, the Stop button or 🛑 ends what I do, `!status` tells how it stands, `!queue` shows what waits and changes it, and `!quiet`, `!normal` or `!full` says how much to show.",
].join("\n");

function forThreads(word: string): string {
  const how = word === "stop" ? ", press its Stop button, or react with 🛑" : "";
  return `Slack does not tell me which thread you mean: write \`!${word}\` in it${how}.`;
}

/**
 * Listens to the ways to ask that are not messages: the slash command and the shortcut of a message. We post the question
 * as a message, so that everybody can read it and its thread has a beginning.
 *
 * @param connectionOf the connection of the team where it happened
 */
export function listenToTasks(app: App, connectionOf: ConnectionOf, inTime: InTime, deps: TaskDeps) {
  app.command(slashCommand, async ({ command, context, ack }) => {
    const team = await connectionOf(context.teamId);
    const { user_id: user, channel_id: channel, text } = commandSchema.parse(command);
    await inTime.reply(() => runCommand(team, deps, { user, channel, text }), {
      acknowledge: (answer) => ack(answer),
      tell: (problem) => team.postEphemeral({ user, channel, thread: undefined }, problem),
    });
  });

  app.shortcut({ type: "message_action", callback_id: aboutShortcut }, async ({ body, context }) => {
    const team = await connectionOf(context.teamId);
    const { user, channel, message, trigger_id } = shortcutSchema.parse(body);
    const point = { channel: channel.id, message: message.ts };
    const problem = await openModal(team, trigger_id, askAbout(point));
    const place = { channel: channel.id, thread: message.thread_ts };
    if (problem) await team.postEphemeral({ ...place, user: user.id }, problem);
  });

  app.view(aboutModal, async ({ body, view, context, ack }) => {
    const team = await connectionOf(context.teamId);
    const { user } = userSchema.parse(body);
    const point = readRemembered(view, pointSchema);
    const { channel } = point;
    const askAboutMessage = async () => {
      const found = await readMessage(team, point);
      if (typeof found === "string") return { text: found };
      const { about, thread } = found;
      const author = await team.people.author(user.id);
      const problem = await ask(team, deps, { author, channel, text: readText(view), about, thread });
      return problem ? { text: problem } : undefined;
    };
    await inTime.reply(askAboutMessage, {
      acknowledge: (problem) => (problem ? ack(problemInModal(problem.text)) : ack()),
      tell: (problem) => team.postEphemeral({ user: user.id, channel, thread: undefined }, problem),
    });
  });
}

/** Does what the slash command says; gives what the person should read about it. */
async function runCommand(
  team: TeamConnection,
  deps: TaskDeps,
  { user, channel, text: written }: { user: string; channel: string; text: string },
): Promise<{ text: string; blocks?: types.KnownBlock[] } | undefined> {
  const { text, options } = parseTask(makeReadable(team, written));
  if (["", "help"].includes(text.toLowerCase())) return { text: help };
  const word = readThreadCommand(text);
  if (word && !isForChannels(word)) return { text: forThreads(word) };
  const author = await team.people.author(user);
  if (word) {
    const markdown = await answerAlone(team, deps, { author, channel, text: `/${word}` });
    return { text: toPlainText(markdown), blocks: [{ type: "markdown", text: escapeMentions(markdown) }] };
  }
  const problem = await ask(team, deps, { author, channel, text, options });
  return problem ? { text: problem } : undefined;
}

export interface TaskDeps {
  intake: Intake;
  mayAsk(teamId: string, author: Author): boolean;
  choices(place: ThreadRef, author: Author): Promise<TaskChoices>;
}

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

interface Options {
  model?: string;
  skill?: string;
  prompt?: PromptChoice;
}

/**
 * Parses the text after the command: options first (`model:fast skill:csv-report prompt:tickets/triage project=heddle`),
 * then the task.
 */
function parseTask(written: string): { text: string; options: Options } {
  const prompt = /^prompt:/i.test(written) ? readPromptChoice(written.slice("prompt:".length)) : undefined;
  if (prompt) {
    const { text, options } = parseTask(prompt.rest);
    return { text: text || followPrompt(prompt.choice), options: { ...options, prompt: prompt.choice } };
  }
  const [, name = "", value, rest = ""] = /^(model|skill):(\S+)\s*(.*)$/is.exec(written) ?? [];
  if (value === undefined) return { text: readCommandTask(written), options: {} };
  const { text, options } = parseTask(rest);
  return { text, options: { ...options, [name.toLowerCase()]: value } };
}

/** Posts the question and hands it in; gives a sentence for the person if that failed. */
export async function ask(
  team: TeamConnection,
  { intake, mayAsk, choices }: TaskDeps,
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
  const withdraw = () => team.client.chat.delete({ channel, ts: posted.ts }).catch(() => undefined);
  try {
    const result = await intake.receive(event);
    // Intake posts the reply of a refusal in the thread.
    if (result.kind !== "ignored") return undefined;
    await withdraw();
    return `That was not taken: ${result.why}.`;
  } catch (error) {
    await withdraw();
    throw error;
  }
}

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
async function answerAlone(
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

function makeReadable({ identity, people }: TeamConnection, text: string): string {
  return readableText(text, identity.botUserId, (id) => people.knownName(id)).trim();
}
