import type { App, types } from "@slack/bolt";
import { z } from "zod";
import { followPrompt, readPromptChoice } from "../../../chat/prompt-choice.ts";
import { isForChannels, readCommandTask, readThreadCommand } from "../../../chat/thread-command.ts";
import type { ConnectionOf, TeamConnection } from "../connection/team.ts";
import { aboutShortcut, slashCommand } from "../installation/manifest.ts";
import { toPlainText } from "../surface/plain-text.ts";
import { escapeMentions } from "../surface/render.ts";
import { answerAlone, ask, type Options, readMessage, type TaskDeps } from "./ask.ts";
import type { InTime } from "./in-time.ts";
import { openModal } from "./interactions.ts";
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

function makeReadable({ identity, people }: TeamConnection, text: string): string {
  return readableText(text, identity.botUserId, (id) => people.knownName(id)).trim();
}
