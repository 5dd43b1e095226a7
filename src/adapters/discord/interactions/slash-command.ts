import { InteractionResponseType, type InteractionType } from "discord.js";
import {
  isAnsweredAtOnce,
  isForChannels,
  readCommandTask,
  readThreadCommand,
} from "../../../chat/thread-command.ts";
import { cutText } from "../../../agent/text/text.ts";
import { type OfferedPrompt, readPromptChoice, writePrompt } from "../../../chat/prompt-choice.ts";
import { threadOfMessageIn } from "../connection/channels.ts";
import { attachmentHandle } from "../surface/attachments.ts";
import { threadCommands } from "./commands.ts";
import type { InteractionOptions } from "./options.ts";
import { replyEphemeral, replyWithResult, respond } from "./replies.ts";
import { readAuthor, type Of, type SlashCommandData } from "./schema.ts";
import { receiveTask, type Task, readOrigin, toMessage } from "./tasks.ts";

/** Discord shows 25 choices of at most 100 characters. */
const maxChoices = 25;
const choiceChars = 100;

/**
 * The prompts that hold what is written, with the arguments that they need; behind one that is written whole the next of
 * its arguments.
 */
function suggestPrompts(
  prompts: readonly OfferedPrompt[],
  written: string,
): { name: string; value: string }[] {
  const read = /\s/.test(written.trimStart()) ? readPromptChoice(written) : undefined;
  const { choice } = read ?? {};
  const chosen = prompts.find(({ server, name }) => server === choice?.server && name === choice.name);
  if (!chosen)
    return prompts
      .filter((prompt) =>
        `${prompt.server}/${prompt.name}`.toLowerCase().includes(written.trim().toLowerCase()),
      )
      .map((prompt) => {
        const name = [writePrompt(prompt), prompt.description].filter(Boolean).join(": ");
        return { name: cutText(name, choiceChars), value: `${prompt.server}/${prompt.name}` };
      });
  const given = choice?.arguments ?? {};
  const left = chosen.arguments.filter(({ name }) => given[name] === undefined);
  // What is being written now stays as it is.
  const soFar = read?.rest ? written.slice(0, written.lastIndexOf(read.rest)).trim() : written.trim();
  const next = left.map(({ name, required }) => ({
    name: cutText(`${soFar} ${name}=…${required ? "" : " (if you like)"}`, choiceChars),
    value: `${soFar} ${name}=`,
  }));
  const isWhole = !left.some(({ required }) => required) && !read?.rest;
  const whole = { name: cutText(soFar, choiceChars), value: soFar };
  return isWhole ? [whole, ...next] : next;
}

type Command = Of<InteractionType.ApplicationCommand>;

/** With exclamation marks: behind a slash, Discord suggests the commands of other bots. */
function renderHelp(readsAll: boolean): string {
  return [
    `\`/agent\` with a task starts a thread for it. In the thread you need no command: just ${readsAll ? "write" : "mention me"}.`,
    "`/agent` with `plan:` before the task puts a plan to you first, and changes nothing before you approve it.",
    "In a thread, `stop`, the Stop button or 🛑 ends what I do, `!status` tells how it stands, `/queue` shows what waits and changes it, and `!quiet`, `!normal` or `!full` says how much to show.",
  ].join("\n");
}

/** Runs `/agent`: help, a text command for the thread that it is used in, or a task. */
export async function runSlashCommand(
  options: InteractionOptions,
  interaction: Command,
  data: SlashCommandData,
): Promise<void> {
  const own = threadCommands.find(({ name }) => name === data.name);
  const words = data.options.map(({ value }) => value);
  if (own) return runThreadCommand(options, interaction, [own.name, ...words].join(" "));
  const task = readTask(data);
  if (typeof task === "string") return replyEphemeral(options.rest, interaction, task);
  if (task.text.toLowerCase() === "help")
    return replyEphemeral(options.rest, interaction, renderHelp(options.messageContent));
  const command = readThreadCommand(task.text);
  return command ? runThreadCommand(options, interaction, command) : receiveTask(options, interaction, task);
}

/** What is answered at once concerns the one who asks: nobody else sees it. What needs a turn is a task in the thread. */
async function runThreadCommand(
  options: InteractionOptions,
  interaction: Command,
  command: string,
): Promise<void> {
  const { rest, channels, receive } = options;
  const channel = await channels.channel(interaction.channel_id);
  if (channel.kind.is === "channel" && !isForChannels(command)) {
    const how = `I cannot know which thread you mean: use \`/agent ${command}\` in it.`;
    return replyEphemeral(rest, interaction, how);
  }
  const task = { text: `/${command}` };
  if (!isAnsweredAtOnce(command)) return receiveTask(options, interaction, task);
  const event = toMessage(readOrigin(interaction), channel, task, interaction.id);
  const done = command === "stop" ? "Stopping…" : "Done.";
  return replyWithResult(rest, interaction, () => receive({ ...event, tellsRefusal: true }), { done });
}

/** A sentence for the person where it cannot be read. */
function readTask({ options, resolved }: SlashCommandData): Task | string {
  const value = (name: string) => options.find((option) => option.name === name)?.value;
  const [model, skill] = [value("model"), value("skill")];
  const template = value("template")?.trim();
  const read = template ? readPromptChoice(template) : undefined;
  if (template && (!read || read.rest !== ""))
    return "Write `template` as server/name, then each argument as name=value, with quotation marks where the value has blanks.";
  const file = resolved.attachments[value("file") ?? ""];
  return {
    text: readCommandTask((value("prompt") ?? "").trim()),
    ...(file && { attachments: [attachmentHandle(file)] }),
    ...((model || skill || read) && {
      options: { ...(model && { model }), ...(skill && { skill }), ...(read && { prompt: read.choice }) },
    }),
  };
}

/** Suggests models, skills or prompts while somebody types a command. */
export async function suggestChoices(
  { rest, channels, choices: findChoices }: InteractionOptions,
  interaction: Of<InteractionType.ApplicationCommandAutocomplete>,
): Promise<void> {
  const place = threadOfMessageIn(await channels.channel(interaction.channel_id), interaction.id);
  const { models, skills, prompts } = await findChoices(place, readAuthor(interaction));
  const focused = interaction.data.options.find((option) => option.focused);
  const written = focused?.value ?? "";
  const found =
    focused?.name === "template"
      ? suggestPrompts(prompts, written)
      : (focused?.name === "skill" ? skills : models)
          .filter((name) => name.toLowerCase().includes(written.toLowerCase()))
          .map((name) => ({ name, value: name }));
  const choices = found.filter(({ value }) => value.length <= choiceChars).slice(0, maxChoices);
  const type = InteractionResponseType.ApplicationCommandAutocompleteResult;
  await respond(rest, interaction, { type, data: { choices } });
}
