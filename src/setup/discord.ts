import {
  type ApplicationTrial,
  switchOnMessageContent,
  tryDiscordToken,
} from "../adapters/discord/installation/set-up.ts";
import { findClosedDiscord } from "../config/access.ts";
import type { SetupContext, StepResult } from "./context.ts";
import { describeSecret } from "./dialog.ts";
import { describePasted, readPasted } from "./pasted.ts";

type Application = Extract<ApplicationTrial, { ok: true }>;

const tokenSteps = [
  "  1. Open https://discord.com/developers/applications, press New Application and give it a name.",
  "  2. Under Bot press Reset Token and copy the token. It is shown once.",
];

/** Takes the bot's token, switches its intent on, has it invited and lists the server that may give it work. */
export async function setUpDiscord(context: SetupContext): Promise<StepResult> {
  const { dialog } = context;
  const { DISCORD_TOKEN: known } = context.config().environment;
  const tried = known === undefined ? undefined : await tryToken(context, known);
  const choice = await dialog.choose(
    "discord",
    tried ? "Discord is set up." : "Should Heddle answer in Discord?",
    [
      ...(tried ? [{ value: "keep", label: "Keep the token, and look at intent and server" }] : []),
      { value: "token", label: tried ? "Take another token" : "Yes: make an app and paste its token" },
      ...(known ? [{ value: "remove", label: "Remove the token from .env" }] : []),
      { value: "skip", label: "Not now" },
    ],
    { standard: tried ? "keep" : "token", unanswered: tried ? "keep" : "skip" },
  );
  switch (choice) {
    case "skip":
      return { state: "skipped", text: "Discord is not connected." };
    case "remove":
      await context.save({ DISCORD_TOKEN: undefined });
      return { state: "skipped", text: "Discord's token is removed; the bot stays in its servers." };
    case "keep":
      if (tried && known) return await finish(context, known, tried);
  }
  return await takeToken(context);
}

async function takeToken(context: SetupContext): Promise<StepResult> {
  const { dialog } = context;
  for (const line of tokenSteps) dialog.say(line);
  let isRefused = false;
  for (;;) {
    const { kind, value } = readPasted(await dialog.ask("discord.token", "Bot token", { secret: true }));
    if (value === "" && isRefused)
      return { state: "failed", text: "Discord is not connected: what was entered does not work." };
    if (value === "") return { state: "skipped", text: "Discord is not connected." };
    isRefused = true;
    if (kind !== "discord-token" && kind !== "unknown") {
      dialog.say(`  ✗ That is ${describePasted(kind)}.`);
      continue;
    }
    const application = await tryToken(context, value);
    if (!application) continue;
    await context.save({ DISCORD_TOKEN: value });
    return await finish(context, value, application);
  }
}

function accessWith(context: SetupContext, token: string) {
  const { DISCORD_API_URL } = context.config().environment;
  return { token, timeoutMs: context.patienceMs, ...(DISCORD_API_URL && { apiUrl: DISCORD_API_URL }) };
}

/** Undefined when it does not work and the person has been told so. */
async function tryToken(context: SetupContext, token: string): Promise<Application | undefined> {
  const { dialog } = context;
  for (;;) {
    const trial = await tryDiscordToken(accessWith(context, token));
    context.signal.throwIfAborted();
    if (trial.ok) {
      dialog.say(`  ✓ ${trial.name} (token ${describeSecret(token)})`);
      return trial;
    }
    dialog.say(`  ✗ ${trial.problem}`);
    if (trial.isReached) return undefined;
    const next = await dialog.choose(
      "discord.next",
      "What next?",
      [
        { value: "again", label: "Try again" },
        { value: "skip", label: "Leave it" },
      ],
      { standard: "again", unanswered: "skip" },
    );
    if (next !== "again") return undefined;
  }
}

async function finish(context: SetupContext, token: string, application: Application): Promise<StepResult> {
  const { dialog } = context;
  await provideIntent(context, token, application);
  const invited = await haveInvited(context, token, application);
  if (!invited) {
    const text = `Discord waits until the bot is invited: ${application.invite}`;
    return { state: "waiting", text };
  }
  for (const warning of invited.warnings) dialog.say(`  ! ${warning}`);
  return await listServer(context, invited);
}

async function provideIntent(context: SetupContext, token: string, application: Application): Promise<void> {
  const { dialog } = context;
  const { messageContent } = context.config().settings.discord;
  if (application.readsMessages && messageContent) return;
  const question = application.readsMessages
    ? "Every message has to mention the bot (discord.messageContent is false). Should it read all messages of its threads?"
    : "The app may not read messages that do not mention it (Message Content Intent). Should Heddle switch it on?";
  if (await dialog.confirm("discord.messageContent", question)) {
    if (!application.readsMessages) {
      const problem = await switchOnMessageContent(accessWith(context, token));
      if (problem !== undefined)
        return dialog.say(`  ✗ ${problem} Switch it on under Bot → Privileged Gateway Intents.`);
      dialog.say("  ✓ The Message Content Intent is on.");
    }
    if (!messageContent) await context.setSetting(["discord", "messageContent"], true);
    return;
  }
  if (messageContent) await context.setSetting(["discord", "messageContent"], false);
  dialog.say("  Every message has to mention the bot: discord.messageContent is false.");
}

/** Undefined while it is in no server. */
async function haveInvited(
  context: SetupContext,
  token: string,
  application: Application,
): Promise<Application | undefined> {
  const { dialog } = context;
  let found: Application | undefined = application;
  while (found && found.guilds.length === 0) {
    dialog.say("  Invite the bot to your server at this address:");
    dialog.say(`    ${application.invite}`);
    const next = await dialog.choose(
      "discord.invited",
      "Is it there?",
      [
        { value: "again", label: "Yes: look again" },
        { value: "skip", label: "Not yet: I will come back to this step" },
      ],
      { standard: "again", unanswered: "skip" },
    );
    if (next !== "again") return undefined;
    found = await tryToken(context, token);
  }
  return found;
}

async function listServer(context: SetupContext, { guilds, name }: Application): Promise<StepResult> {
  const { dialog } = context;
  const { access } = context.config().settings;
  const listed = guilds.filter(({ id }) => access.discord.guilds.includes(id));
  if (listed.length > 0 || !findClosedDiscord(access)) {
    const where = listed.map((guild) => guild.name).join(", ") || "those listed under access";
    return { state: "ready", text: `Discord: ${name} takes work from ${where}.` };
  }
  const chosen = await dialog.choose(
    "discord.server",
    "Whose members may give it work?",
    [...guilds.map(({ id, name: label }) => ({ value: id, label })), { value: "none", label: "Nobody yet" }],
    { standard: guilds[0]?.id ?? "none", unanswered: "none" },
  );
  const guild = guilds.find(({ id }) => id === chosen);
  if (!guild) {
    const text = "Nobody on Discord may give work yet: list a server under access.discord.guilds.";
    return { state: "waiting", text };
  }
  await context.addToSetting(["access", "discord", "guilds"], [guild.id]);
  return { state: "ready", text: `Discord: ${name} takes work from members of ${guild.name}.` };
}
