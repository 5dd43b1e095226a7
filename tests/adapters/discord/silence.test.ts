import { expect, test } from "vitest";
import { fakeDiscord, startAdapter } from "./connected-adapter.ts";

test("A connection to Discord that is open and dead is given up after two heartbeats, and what was missed arrives", async () => {
  const discord = await fakeDiscord();
  discord.gateway.heartbeatMs = 400;
  const { intake } = await startAdapter(discord);
  discord.gateway.freeze();
  discord.user("ada").says(discord.channel("general"), "<@BOT> can you hear me?");
  await discord.until(() => discord.gateway.resumed === 1);
  expect(await intake.first(1)).toMatchObject([{ text: "can you hear me?" }]);
  expect(discord.gateway.identified).toBe(1);
});
