import type { ShownMark } from "../../../src/chat/outbound.ts";
import { type FakeDiscord, startFakeDiscord } from "../../fakes/discord/fake-discord.ts";
import type { FakeMessage } from "../../fakes/discord/world.ts";
import { patienceMs } from "../program.ts";
import { oneLine, queueHint, table, watched } from "./acts.ts";
import { type Platform, type PlatformKind, type Room, type Seen } from "./chat.ts";

const marks: Record<string, ShownMark> = {
  "👀": "taken",
  "⏳": "waiting",
  "✅": "answered",
  "🛑": "stopped",
  "⚠️": "failed",
  "⏸️": "paused",
};

export const discordKind: PlatformKind = { name: "Discord", lacks: [], open };

async function open(): Promise<Platform<FakeMessage>> {
  const discord = await startFakeDiscord({ patienceMs });
  return {
    environment: {
      DISCORD_TOKEN: discord.token,
      DISCORD_API_URL: discord.url,
      DISCORD_CDN_URL: discord.cdnUrl,
    },
    rules: {
      access: { discord: { users: ["ada", "bob", "max"].map((name) => discord.user(name).id) } },
      channels: {
        [`discord:${discord.guild.id}:${discord.channel(watched.title).id}`]: { watch: watched.watch },
      },
      budgets: { users: { [`discord:${discord.guild.id}:${discord.user("max").id}`]: { tokens: 1 } } },
    },
    channel: (name) => `discord:${discord.guild.id}:${discord.channel(name).id}`,
    room: async (name) => roomIn(discord, name),
    names: (text) =>
      text
        .replace(oneLine(table), "``` file MB ───── ─── a.iso 700 b.zip 80 ```")
        .replace(queueHint, "`/queue` has menus that take a message out or move it."),
    close: () => discord.close(),
  };
}

function roomIn(discord: FakeDiscord, name: string): Room<FakeMessage> {
  const channel = discord.channel(name);
  const threads = () => channel.messages.flatMap((message) => discord.threadOf(message) ?? []);
  // What one person alone can see does not stand in the room.
  const all = () => [channel, ...threads()].flatMap((place) => place.messages);
  const messages = () => all().filter(({ onlyFor }) => !onlyFor);
  return {
    messages,
    seen: (message) => seen(discord, message),
    drawn: (message) => {
      const { buttons, files } = seen(discord, message);
      const row = buttons.map((label) => `[${label}]`).join(" ");
      const text = message.content.replaceAll(/<@\d+>/g, (mention) =>
        mention.includes(discord.bot.id) ? "@Heddle" : "@…",
      );
      return [text, ...files.map((file) => `[file ${file}]`), row].filter(Boolean).join("\n");
    },
    async says(who, text, { mention, file }) {
      const where = channel.messages.length === 0 ? channel : await discord.until(() => threads()[0]);
      discord.user(who).says(where, mention ? `<@BOT> ${text}` : text, {
        ...(file && { files: [{ ...file, mediaType: "text/csv" }] }),
      });
    },
    // What follows in the same channel is read after it.
    edits: async (who, message, text) => discord.user(who).edits(message, text),
    deletes: async (who, message) => discord.user(who).deletes(message),
    stops: async (who, message) => discord.user(who).reacts("🛑", message),
    async presses(who, label, message, sentence) {
      const press = discord.user(who).presses(label, message);
      await discord.until(() => press.answer);
      if (sentence === undefined) return;
      const form = discord.user(who).fills(press, sentence);
      await discord.until(() => form.answer);
    },
    toldAlone: (who) =>
      all()
        .filter(({ onlyFor }) => onlyFor?.id === discord.user(who).id)
        .map(({ content }) => content),
    async file(message, fileName) {
      return message.files.find((one) => one.name === fileName)?.content.toString() ?? "";
    },
    until: (condition) => discord.until(condition),
  };
}

function seen(discord: FakeDiscord, message: FakeMessage): Seen {
  const [, text = "", footer = ""] = /^(.*?)(?:\n-# (.*))?$/s.exec(message.content) ?? [];
  const own = [...message.reactions].find(([, users]) => users.has(discord.bot.id))?.[0] ?? "";
  return {
    who: message.author.username,
    text: text.replaceAll(/^<@\d+> |\s*<@\d+>$/g, ""),
    footer,
    mark: marks[own],
    buttons: message.components.flatMap((row) => row.components.map(({ label = "" }) => label)),
    files: message.files.map(({ name }) => name),
  };
}
