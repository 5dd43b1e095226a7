import { MessageFlags } from "discord.js";
import type { FakeChannel, FakeMessage, World } from "./world.ts";

/**
 * All channels and threads as people read them:
 *
 *     #general
 *     ada: @heddle hi  ✅
 *     #general → hi
 *     heddle: Hello, Ada.
 *       [Stop]
 */
export function transcript(world: World): string {
  return [...world.channels.values()].map((channel) => lines(world, channel).join("\n")).join("\n\n");
}

function lines(world: World, channel: FakeChannel): string[] {
  const name = channel.parent ? `#${channel.parent.name} → ${channel.name}` : `#${channel.name}`;
  return [name, ...channel.messages.flatMap((message) => messageLines(world, message))];
}

function messageLines(world: World, message: FakeMessage): string[] {
  const isLoading = (message.flags & MessageFlags.Loading) !== 0;
  const text = isLoading ? "(thinking …)" : message.content;
  const readable = text.replaceAll(
    /<@!?(\d+)>/g,
    (_mention, id: string) => `@${world.users.get(id)?.username ?? id}`,
  );
  const marks = [...message.reactions.keys()].map((emoji) => `  ${emoji}`).join("");
  const files = message.files.map(({ name }) => `  (file ${name})`);
  const buttons = message.components.map(
    (row) => `  ${row.components.map(({ label }) => `[${label}]`).join(" ")}`,
  );
  const only = message.onlyFor ? ` (only for ${message.onlyFor.username})` : "";
  const [first = "", ...others] = readable.split("\n");
  return [
    `${message.author.username}${only}: ${first}${marks}`,
    ...others.map((line) => `  ${line}`),
    ...files,
    ...buttons,
  ];
}
