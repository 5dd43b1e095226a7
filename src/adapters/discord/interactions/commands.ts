import {
  ApplicationCommandOptionType,
  ApplicationCommandType,
  ApplicationIntegrationType,
  InteractionContextType,
  type REST,
  type RESTPostAPIApplicationCommandsJSONBody,
  Routes,
} from "discord.js";

/** In servers that have installed the app and in direct messages with the bot. */
const where = {
  contexts: [InteractionContextType.Guild, InteractionContextType.BotDM],
  integration_types: [ApplicationIntegrationType.GuildInstall],
};

const suggested = { type: ApplicationCommandOptionType.String, autocomplete: true } as const;

/** Text commands that people look for by themselves; what they answer only that person sees. */
export const threadCommands = [
  { name: "stop", description: "Stop what the agent does in this thread" },
  { name: "status", description: "How it stands with the agent in this thread" },
  { name: "model", description: "Which model answers in this thread; choose another" },
  { name: "skill", description: "Which skill is used in this thread; choose another" },
  { name: "notify", description: "Whether you are mentioned when what you asked for has ended" },
  {
    name: "queue",
    description: "What waits for the agent here; take messages out or move them",
  },
] as const;

/** What stands behind `!notify`. */
const notifyOption = {
  type: ApplicationCommandOptionType.String as const,
  name: "when",
  description: "Leave it out to see how it is",
  choices: [
    { name: "on: whenever it has ended", value: "on" },
    { name: "off: never", value: "off" },
    { name: "default: as it is set up here", value: "default" },
  ],
};

const commands: RESTPostAPIApplicationCommandsJSONBody[] = [
  {
    ...where,
    type: ApplicationCommandType.ChatInput,
    name: "agent",
    description: "Give the agent a task; “stop” ends what it does here",
    options: [
      {
        type: ApplicationCommandOptionType.String,
        name: "prompt",
        description: "What it should do",
        required: true,
        max_length: 6_000,
      },
      { type: ApplicationCommandOptionType.Attachment, name: "file", description: "A file to work with" },
      { ...suggested, name: "model", description: "The model to use" },
      { ...suggested, name: "skill", description: "The skill to use" },
      {
        ...suggested,
        name: "template",
        description: "A prompt of an MCP server to begin with: server/name argument=value",
      },
    ],
  },
  ...threadCommands.map((command) => ({
    ...where,
    type: ApplicationCommandType.ChatInput as const,
    ...command,
    ...(command.name === "notify" && { options: [notifyOption] }),
  })),
  { ...where, type: ApplicationCommandType.Message, name: "Ask the agent about this" },
];

/**
 * Registers the commands for all servers unless they are registered already: Discord limits how often commands are
 * created. @returns whether it was necessary
 */
export async function registerCommands(rest: REST, applicationId: string): Promise<boolean> {
  if (await areRegistered(rest, applicationId)) return false;
  await rest.put(Routes.applicationCommands(applicationId), { body: commands });
  return true;
}

/** Whether Discord has exactly these commands for all servers. */
export async function areRegistered(rest: REST, applicationId: string): Promise<boolean> {
  const registered = await rest.get(Routes.applicationCommands(applicationId));
  return (
    Array.isArray(registered) &&
    registered.length === commands.length &&
    commands.every((command) => registered.some((other) => includesAll(other, command)))
  );
}

/** Whether everything that is wanted is there; Discord adds fields of its own. */
function includesAll(there: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    if (!Array.isArray(there) || there.length !== wanted.length) return false;
    return wanted.every((item, index) => includesAll(there[index], item));
  }
  if (typeof wanted !== "object" || wanted === null) return there === wanted;
  if (typeof there !== "object" || there === null) return false;
  const fields = new Map<string, unknown>(Object.entries(there));
  return Object.entries(wanted).every(([name, value]) => includesAll(fields.get(name), value));
}
