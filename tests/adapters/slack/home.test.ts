import { expect, test } from "vitest";
import type { RecentThread } from "../../../src/chat/home.ts";
import { startAdapter, nobodyWasHere, untilAcknowledged } from "./connected-adapter.ts";

test("The home tab shows a person's own threads, with links where they still are", async () => {
  const asked: string[][] = [];
  const threads: RecentThread[] = [];
  const { slack, intake } = await startAdapter({}, nobodyWasHere, {
    async of(...who) {
      asked.push(who);
      return threads;
    },
  });
  const ada = slack.user("ada");
  ada.opensApp("messages");
  ada.opensApp("home");
  await untilAcknowledged(slack);
  expect(asked).toEqual([["slack", slack.teamId, ada.id]]);
  expect(ada.home()).toContain("There are none yet.");

  const general = slack.channel("general");
  const root = await ada.says(general, "root");
  const place = { platform: "slack", workspace: slack.teamId, channel: general.id };
  threads.push(
    {
      thread: { ...place, thread: root.ts },
      beginning: "## Build **<!channel>** | now\nand more",
      status: "running",
      activeAt: 1_795_000_000_000,
    },
    { thread: { ...place, thread: "1.000000" }, beginning: "", status: "idle", activeAt: 1_794_000_000_000 },
  );
  ada.opensApp("home");
  await untilAcknowledged(slack);
  const link = `https://fake.slack.com/archives/${general.id}/p${root.ts.replace(".", "")}`;
  expect(ada.home()).toContain(
    `<${link}|Build &lt;\u200B!channel&gt; ¦ now>\n⏳ working · <!date^1795000000^`,
  );
  expect(ada.home()).toMatch(/\(no text\)\n✅ idle .*\|2026-11-06 \d\d:\d\d UTC>/);
  expect(intake.events).toEqual([]);
});

test("The home tab tells a person how much of a budget is used", async () => {
  const { slack } = await startAdapter({}, nobodyWasHere, undefined, {
    of: async (...who) => [`${who.join(" ")}: $0.40 of $2.00 used`],
  });
  const ada = slack.user("ada");
  ada.opensApp("home");
  await untilAcknowledged(slack);
  expect(ada.home()).toContain(`*Your budget today:* slack ${slack.teamId} ${ada.id}: $0.40 of $2.00 used`);
});

test("A home tab that cannot be shown is left as it was, and Slack is not asked to tell again", async () => {
  const { slack } = await startAdapter();
  const ada = slack.user("ada");
  slack.fail("views.publish", { kind: "refuse", error: "not_enabled" });
  const opened = ada.opensApp("home");
  await untilAcknowledged(slack);
  expect(opened.attempts).toBe(1);
  expect(ada.home()).toBeUndefined();
});
