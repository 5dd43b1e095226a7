import { InteractionResponseType, type InteractionType } from "discord.js";
import {
  isAnsweredAtOnce,
  isForChannels,
  readCommandTask,
  readThreadCommand,
} from "../../../chat/thread-command.ts";
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

function readTask({ options, resolved }: SlashCommandData): Task {
  const value = (name: string) => options.find((option) => option.name === name)?.value;
  const [model, skill] = [value("model"), value("skill")];
  const file = resolved.attachments[value("file") ?? ""];
  return {
    text: readCommandTask((value("prompt") ?? "").trim()),
    ...(file && { attachments: [attachmentHandle(file)] }),
    ...((model || skill) && { options: { ...(model && { model }), ...(skill && { skill }) } }),
  };
}

/** Suggests models or skills while somebody types a command. */
export async function suggestChoices(
  { rest, channels, choices: findChoices }: InteractionOptions,
  interaction: Of<InteractionType.ApplicationCommandAutocomplete>,
): Promise<void> {
  const place = threadOfMessageIn(await channels.channel(interaction.channel_id), interaction.id);
  const { models, skills } = await findChoices(place, readAuthor(interaction));
  const focused = interaction.data.options.find((option) => option.focused);
  const typed = focused?.value.toLowerCase() ?? "";
  const choices = (focused?.name === "skill" ? skills : models)
    .filter((name) => name.length <= choiceChars && name.toLowerCase().includes(typed))
    .slice(0, maxChoices)
    .map((name) => ({ name, value: name }));
  const type = InteractionResponseType.ApplicationCommandAutocompleteResult;
  await respond(rest, interaction, { type, data: { choices } });
}
