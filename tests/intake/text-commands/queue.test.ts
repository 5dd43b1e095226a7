import { expect, test } from "vitest";
import { createMasker } from "../../../src/agent/secrets/mask-secrets.ts";
import type { UserMessage } from "../../../src/agent/messages.ts";
import { describeQueue, formatAge, readQueueCommand } from "../../../src/intake/text-commands/queue.ts";

test.each([
  ["/queue", { do: "list" }],
  [" !Queue\n", { do: "list" }],
  ["!queue remove m7", { do: "change", change: { do: "remove" }, handle: "m7" }],
  ["/queue FIRST `M12` ", { do: "change", change: { do: "move", to: 1 }, handle: "m12" }],
  ["!queue last m7", { do: "change", change: { do: "move", to: 1_000_000 }, handle: "m7" }],
  ["!queue move m7 to 2", { do: "change", change: { do: "move", to: 2 }, handle: "m7" }],
  ["/queue move `m7` 12", { do: "change", change: { do: "move", to: 12 }, handle: "m7" }],
  ["!queue move m7", undefined],
  ["!queue move m7 to 0", undefined],
  ["!queue move m7 to m8", undefined],
  ["queue", undefined],
  ["!queue remove", undefined],
  ["!queue remove 1", undefined],
  ["!queue remove m7 and m8", undefined],
  ["what is in the !queue?", undefined],
])("%j is read as %j", (text, command) => {
  expect(readQueueCommand(text)).toEqual(command);
});

const minute = 60_000;
const now = Date.UTC(2026, 10, 23, 8, 0);
const message = (seq: number | undefined, name: string, text: string, minutes: number): UserMessage => ({
  ...{ role: "user", id: `id${seq}`, author: { id: name, name }, text, at: now - minutes * minute },
  ...(seq !== undefined && { seq }),
});
const nothing = {
  changedBy: "text",
  hasChannel: true,
  isRunning: false,
  messages: [],
  others: [],
  hidden: 0,
  running: 0,
  now,
} as const;
const thread = { platform: "slack", workspace: "T", channel: "C", thread: "1" };

test("A queue shows no half of a secret, which is masked only with the whole answer", () => {
  const { mask } = createMasker([]);
  const token = `ghp_${"aB3d".repeat(9)}`;
  for (let words = 5; words < 30; words += 1) {
    const messages = [message(7, "Ada", `${"so ".repeat(words)}${token} and more`, 3)];
    expect(mask(describeQueue({ ...nothing, messages }))).not.toContain("aB3d");
  }
});

test("A queue is told by place, person, time and first words, of which none is markup or calls anybody", () => {
  const messages = [
    message(7, "**Ada**", `check\nthe *build* ${"now ".repeat(50)}`, 3),
    message(undefined, "Bob", "from an older Heddle", 0),
  ];
  const others = [{ thread, first: message(1, "Cleo", "compare", 150), messages: 3 }];
  const lines = describeQueue({ ...nothing, messages, others, hidden: 2, running: 1 }).split("\n\n");
  expect(lines).toEqual([
    "**Waiting in this thread**",
    [
      `1. \`m7\` · \\*\\*Ada\\*\\*, 3 min ago: check the \\*build\\* ${"now ".repeat(15)}…`,
      "2. Bob, just now: from an older Heddle",
    ].join("\n"),
    "**Waiting in other threads of this channel**",
    "1. Cleo, 2 h ago: compare (and 2 more there)\n- … and 2 more",
    "One turn runs in this channel.",
    "`!queue remove m7` takes a message out.",
  ]);
});

test("A long queue is cut, and says how much is left", () => {
  const messages = Array.from({ length: 23 }, (_, n) => message(n, "Ada", "go on", 1));
  const shown = describeQueue({ ...nothing, messages, isRunning: true, running: 2 });
  expect(shown).toContain("**Waiting in this thread**, for the turn that is running");
  expect(shown).toContain("\n20. `m19` · Ada, 1 min ago: go on\n- … and 3 more");
});

test.each([
  ["text", "`!queue remove m1` takes a message out, `!queue move m2 to 1` moves it to that place."],
  ["own-command", "`/queue` has menus that take a message out or move it."],
  ["menus", "No turn runs in this channel."],
] as const)("A queue that is changed by %s says how", (changedBy, last) => {
  const messages = [message(1, "Ada", "one", 1), message(2, "Ada", "two", 1)];
  expect(
    describeQueue({ ...nothing, messages, changedBy })
      .split("\n\n")
      .at(-1),
  ).toBe(last);
});

test("A queue of the console's threads names no channel", () => {
  const others = [{ thread, first: message(1, "Cleo", "compare", 0), messages: 1 }];
  const local = { ...nothing, hasChannel: false };
  expect(describeQueue({ ...local, others, running: 2 })).toBe(
    "**Waiting in other threads**\n\n1. Cleo, just now: compare\n\n2 turns run.",
  );
  expect(describeQueue(local)).toBe("Nothing waits here.\n\nNo turn runs.");
});

test("An empty queue says so", () => {
  expect(describeQueue(nothing)).toBe("Nothing waits here.\n\nNo turn runs in this channel.");
});

test.each([
  [0, "just now"],
  [59 * minute, "59 min ago"],
  [47 * 60 * minute, "47 h ago"],
  [48 * 60 * minute, "2 days ago"],
])("%i ms are %s", (ms, words) => {
  expect(formatAge(ms)).toBe(words);
});
