import { expect } from "vitest";
import { processesWith, running, uniqueSleep } from "../processes.ts";
import type { Ability } from "./chat.ts";
import type { Agent, Person } from "./play.ts";

interface Cast {
  ada: Person;
  bob: Person;
  /** May not give work. */
  eve: Person;
  /** May give work, and has no budget for it. */
  max: Person;
  heddle: Agent;
  /** Signs somebody in at the ticket server, with the link that they were told: the code that the page shows them. */
  signIn(told: string, account: string): Promise<string>;
}

/** A conversation in a room of its own, and what stands there in the end, on every platform. */
export interface Act {
  title: string;
  needs?: Ability;
  play(cast: Cast): Promise<void>;
  transcript: string;
}

/** What the program is set to, beside the platform's own. */
export const settings = {
  feedback: true,
  agent: { maxSteps: 4 },
  tools: { rules: [{ tool: "record_note", action: "ask", why: "Notes are for everybody." }] },
};

const rows = Array.from({ length: 400 }, (_, row) => `- row ${row + 1}: ok`).join("\n");

/** Each platform shows it in its own way. */
export const table = "| file | MB |\n|---|--:|\n| `a.iso` | 700 |\n| b.zip | 80 |";

export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}

/** As it is where the platform has no command of its own with menus. */
export const queueHint =
  "`!queue remove m2` takes a message out, `!queue move m3 to 1` moves it to that place.";

/** The room in which nobody mentions the agent first, and how it is watched. */
export const watched = {
  title: "Nobody asks, the agent has something to say, and is part of the thread from then on",
  watch: { task: "Help with deployments.", debounceSeconds: 1 },
};

export const acts: Act[] = [
  {
    title: "Ada asks, sees the work, and goes on without a mention",
    async play({ ada, heddle }) {
      await ada.mentions("Where do you work?");
      heddle.calls(["bash", { command: "pwd" }]);
      await heddle.shows("pwd");
      await heddle.answers("I work in `/workspace`.");
      await ada.says("Are you still there?");
      await heddle.answers("Still here.");
    },
    transcript: `
ada: Where do you work? {answered}
heddle: **What was done** ✓ \`bash\` \`pwd\`
heddle: I work in \`/workspace\`. (2 steps · TIME · N tokens · $N) [👍] [👎]
ada: Are you still there? {answered}
heddle: Still here. (1 step · TIME · N tokens · $N) [👍] [👎]`,
  },
  {
    title: "Bob stops a command of Ada's",
    async play({ ada, bob, heddle }) {
      const { command, seconds } = uniqueSleep();
      await ada.mentions("Wait ten minutes, then deploy to staging.");
      heddle.calls(["bash", { command }]);
      await heddle.shows(seconds);
      await running(command);
      await bob.stops(seconds);
      await heddle.shows("0 left alive");
      expect(processesWith(seconds)).toEqual([]);
    },
    transcript: `
ada: Wait ten minutes, then deploy to staging. {stopped}
heddle: 🛑 **Stopped** ■ \`bash\` \`sleep 600\`
heddle: 🛑 **Stopped by bob** in TIME. 1 command ended (N processes), 0 left alive. No files were written. (1 step · TIME · N tokens · $N)`,
  },
  {
    title: "Ada denies a call with a reason, which the agent reads",
    async play({ ada, heddle }) {
      await ada.mentions("What colour is the grass?");
      heddle.calls(["bash", { command: "echo looking" }]);
      await heddle.shows("echo looking");
      heddle.calls(["record_note", { content: "It is red." }]);
      await ada.presses("Deny with a reason…", "It is red.", "Look again.");
      await heddle.reads(3, "The reason: Look again.");
      await heddle.answers("Green.");
    },
    transcript: `
ada: What colour is the grass? {answered}
heddle: **What was done** ✓ \`bash\` \`echo looking\` ⊘ \`record_note\` \`It is red.\` · denied
heddle: 🔐 **May I run \`record_note\`?** Notes are for everybody. \`\`\` { "content": "It is red." } \`\`\` 🚫 **Denied** by ada: Look again.
heddle: Green. (3 steps · TIME · N tokens · $N) [👍] [👎]`,
  },
  {
    title: "Ada approves a call",
    async play({ ada, heddle }) {
      await ada.mentions("What colour is the sky?");
      heddle.calls(["bash", { command: "echo upwards" }]);
      await heddle.shows("echo upwards");
      heddle.calls(["record_note", { content: "It is blue." }]);
      await ada.presses("Approve", "It is blue.");
      await heddle.answers("Blue.");
    },
    transcript: `
ada: What colour is the sky? {answered}
heddle: **What was done** ✓ \`bash\` \`echo upwards\` ✓ \`record_note\` \`It is blue.\`
heddle: 🔐 **May I run \`record_note\`?** Notes are for everybody. \`\`\` { "content": "It is blue." } \`\`\` ✅ **Approved** by ada.
heddle: Blue. (3 steps · TIME · N tokens · $N) [👍] [👎]`,
  },
  {
    title: "Ada chooses the answer to a question",
    async play({ ada, heddle }) {
      await ada.mentions("Paint the fence.");
      heddle.calls(["bash", { command: "echo cleaning" }]);
      await heddle.shows("echo cleaning");
      heddle.calls(["ask_user", { question: "Which blue?", choices: ["Light", "Dark"] }]);
      await ada.presses("Dark", "Which blue?");
      await heddle.answers("It is dark blue.");
    },
    transcript: `
ada: Paint the fence. {answered}
heddle: **What was done** ✓ \`bash\` \`echo cleaning\` ✓ \`ask_user\` \`Which blue?\`
heddle: ❓ Which blue? ↩️ ada: **Dark**
heddle: It is dark blue. (3 steps · TIME · N tokens · $N) [👍] [👎]`,
  },
  {
    title: "Ada connects an account of hers, by a link that she alone is told",
    async play({ ada, heddle, signIn }) {
      await ada.mentions("Who am I to the ticket server?");
      heddle.calls(["bash", { command: "echo knocking" }]);
      await heddle.shows("knocking");
      heddle.calls(["tickets__connect_account", {}]);
      await ada.presses("Connect", "connect your account");
      const code = await signIn(await ada.isTold("/connect/"), "weaver-7");
      await ada.presses("Enter the code…", "connect your account", code);
      await heddle.reads(3, "account at tickets is connected");
      heddle.calls(["call_tool", { name: "tickets__whoami", arguments: {} }]);
      await heddle.reads(4, "weaver-7");
      await heddle.answers("You are `weaver-7`.");
    },
    transcript: `
ada: Who am I to the ticket server? {answered}
heddle: **What was done** ✓ \`bash\` \`echo knocking\` ✓ \`tickets__connect_account\` ✓ \`tickets__whoami\`
heddle: 🔑 **ada, connect your account at tickets** (\`tickets.example\`). What you ask me for is done there with your account, and what others ask for never is. The link is shown to you alone. ✅ **Connected** by ada.
heddle: You are \`weaver-7\`. (4 steps · TIME · N tokens · $N) [👍] [👎]`,
  },
  {
    title: "Ada cannot connect an account in Bob's place",
    needs: "several people",
    async play({ ada, bob, heddle }) {
      await bob.mentions("Close all tickets.");
      heddle.calls(["bash", { command: "echo counting" }]);
      await heddle.shows("counting");
      heddle.calls(["tickets__connect_account", {}]);
      await ada.presses("Connect", "connect your account");
      expect(await ada.isTold("not for you")).not.toContain("/connect/");
      await bob.presses("Connect", "connect your account");
      await bob.isTold("/connect/");
      await bob.presses("Not now", "connect your account");
      await heddle.answers("They stay open.");
    },
    transcript: `
bob: Close all tickets. {answered}
heddle: **What was done** ✓ \`bash\` \`echo counting\` ⊘ \`tickets__connect_account\` · denied
heddle: 🔑 **bob, connect your account at tickets** (\`tickets.example\`). What you ask me for is done there with your account, and what others ask for never is. The link is shown to you alone. 🚫 **Not connected**, said bob.
heddle: They stay open. (3 steps · TIME · N tokens · $N) [👍] [👎]`,
  },
  {
    title: "Ada likes an answer, and then does not",
    async play({ ada, heddle }) {
      await ada.mentions("What is the capital of Australia?");
      await heddle.answers("Sydney.");
      await ada.presses("👍", "Sydney.");
      await ada.presses("👎", "Sydney.");
    },
    transcript: `
ada: What is the capital of Australia? {answered}
heddle: Sydney. (1 step · TIME · N tokens · $N) [👍] [👎]`,
  },
  {
    title: "Ada sends a file and gets one back",
    async play({ ada, heddle }) {
      await ada.mentions("Sum these.", { name: "data.csv", content: "1\n2\n" });
      heddle.calls(["bash", { command: "paste -sd+ attachments/data.csv > sum.txt" }]);
      await heddle.shows("paste");
      heddle.calls(["attach_file", { path: "sum.txt" }]);
      expect(await heddle.gives("sum.txt")).toBe("1+2\n");
      await heddle.answers("There it is.");
    },
    transcript: `
ada: Sum these. <data.csv> {answered}
heddle: **What was done** ✓ \`bash\` \`paste -sd+ attachments/data.csv > sum.txt\` ✓ \`attach_file\` \`sum.txt\`
heddle: <sum.txt>
heddle: There it is. (3 steps · TIME · N tokens · $N · file changed: sum.txt) [👍] [👎] [Undo…]`,
  },
  {
    title: "Ada changes her mind about messages that wait",
    needs: "edits",
    async play({ ada, heddle }) {
      await ada.mentions("Paint the wall.");
      heddle.calls(["bash", { command: "echo painting" }]);
      await heddle.shows("echo painting");
      // What is said from now on waits for the step after that.
      await heddle.reads(2, "exit code 0");
      await ada.says("Take red.");
      await ada.says("And a hammer.");
      await heddle.marks("hammer", "waiting");
      await ada.edits("red", "Take yellow.");
      await ada.deletes("hammer");
      await ada.says("Is it dry?");
      await heddle.marks("dry", "waiting");
      heddle.calls(["bash", { command: "echo dry" }]);
      expect(await heddle.reads(3, "Take yellow.")).not.toMatch(/red|hammer/);
      await heddle.answers("It is dry and yellow.");
    },
    transcript: `
ada: Paint the wall. {answered}
heddle: **What was done** ✓ \`bash\` \`echo painting\` ✓ \`bash\` \`echo dry\`
ada: Take yellow. {answered}
ada: Is it dry? {answered}
heddle: It is dry and yellow. (3 steps · TIME · N tokens · $N) [👍] [👎]`,
  },
  {
    title: "Eve may not give work, in her own thread or in Ada's",
    needs: "several people",
    async play({ ada, bob, eve, heddle }) {
      await ada.mentions("Guard the gate.");
      await heddle.answers("It is shut.");
      await eve.says("Open the window.");
      await eve.edits("window", "Open it.");
      await eve.says("I have a hammer.");
      await eve.deletes("hammer");
      await eve.mentions("Open it, I said.");
      await heddle.shows("I only take work");
      await ada.says("Who was that?");
      const read = await heddle.reads(2, String.raw`eve (without permission):\n> Open it.`);
      expect(read).not.toMatch(/window|hammer/);
      heddle.calls(["bash", { command: "echo waving" }]);
      await heddle.shows("waving");
      heddle.calls(["record_note", { content: "Let Eve in." }]);
      await eve.presses("Approve", "Let Eve in.");
      await bob.presses("Approve", "Let Eve in.");
      await ada.presses("Deny", "Let Eve in.");
      await heddle.answers("Nobody.");
    },
    transcript: `
ada: Guard the gate. {answered}
heddle: It is shut. (1 step · TIME · N tokens · $N) [👍] [👎]
eve: Open it.
eve: Open it, I said.
heddle: I only take work from …
ada: Who was that? {answered}
heddle: **What was done** ✓ \`bash\` \`echo waving\` ⊘ \`record_note\` \`Let Eve in.\` · denied
heddle: 🔐 **May I run \`record_note\`?** Notes are for everybody. \`\`\` { "content": "Let Eve in." } \`\`\` 🚫 **Denied** by ada.
heddle: Nobody. (3 steps · TIME · N tokens · $N) [👍] [👎]`,
  },
  {
    title: "Max has used up his budget",
    needs: "several people",
    async play({ max, heddle }) {
      await max.mentions("Spend a million.");
      await heddle.shows("does not cover");
      await max.presses("Continue", "does not cover");
    },
    transcript: `
max: Spend a million. {paused}
heddle: **Paused: the budget of N tokens a day for one person does not cover the next step.** It resets at midnight (UTC): write “continue” then. An administrator can press Continue now, which adds N tokens for today. (TIME) [Continue]`,
  },
  {
    title: "Ada stops the work by a word and goes on with something else",
    async play({ ada, heddle }) {
      const { command, seconds } = uniqueSleep();
      await ada.mentions("Take a nap.");
      heddle.calls(["bash", { command }]);
      await heddle.shows(seconds);
      await running(command);
      await ada.says("Stop!");
      await heddle.shows("0 left alive");
      expect(processesWith(seconds)).toEqual([]);
      await ada.says("/status");
      await heddle.shows("nothing to do");
      await ada.says("What is the time?");
      await heddle.answers("Late.");
    },
    transcript: `
ada: Take a nap. {stopped}
heddle: 🛑 **Stopped** ■ \`bash\` \`sleep 600\`
ada: Stop!
heddle: 🛑 **Stopped by ada** in TIME. 1 command ended (N processes), 0 left alive. No files were written. (1 step · TIME · N tokens · $N)
ada: /status {answered}
heddle: **This thread**: nothing to do **Workers**: 1, with N turns running and room for N more **Model**: anthropic/claude-sonnet-5-5 **Sandbox**: in force
ada: What is the time? {answered}
heddle: Late. (1 step · TIME · N tokens · $N) [👍] [👎]`,
  },
  {
    title: "Ada plans something for later",
    async play({ ada, heddle }) {
      await ada.mentions("Wake me in ten hours.");
      heddle.calls(["bash", { command: "echo yawning" }]);
      await heddle.shows("yawning");
      heddle.calls(["schedule", { action: "create", task: "Wake Ada.", in_minutes: 600 }]);
      await heddle.answers("Planned.");
      await ada.says("/schedules");
    },
    transcript: `
ada: Wake me in ten hours. {answered}
heddle: **What was done** ✓ \`bash\` \`echo yawning\` ✓ \`schedule\` \`Wake Ada.\`
heddle: Planned. (3 steps · TIME · N tokens · $N) [👍] [👎]
ada: /schedules {answered}
heddle: - once, DATE (UTC) · \`ID\` by ada: Wake Ada. \`!unschedule ID\` cancels it.`,
  },
  {
    title: "Ada wants to see everything, and then only what is done, while it works",
    async play({ ada, heddle }) {
      await ada.mentions("Are you open?");
      await heddle.answers("Yes.");
      await ada.says("/full");
      await heddle.shows("each tool call");
      await ada.says("Show me.");
      heddle.calls(["bash", { command: "echo one; echo two" }]);
      await heddle.shows("two");
      await ada.says("/normal");
      await heddle.shows("what I am doing");
      heddle.calls(["bash", { command: "echo three" }]);
      await heddle.reads(4, "three");
      await heddle.answers("Shown.");
      await ada.says("And now?");
      heddle.calls(["bash", { command: "echo four" }]);
      await heddle.shows("echo four");
      await heddle.answers("Done.");
    },
    transcript: `
ada: Are you open? {answered}
heddle: Yes. (1 step · TIME · N tokens · $N) [👍] [👎]
ada: /full
heddle: From the next task on, I show each tool call here, with the start of its result.
ada: Show me. {answered}
heddle: **What was done** ✓ \`bash\` \`echo one; echo two\` \`\`\` exit code 0 one two \`\`\` ✓ \`bash\` \`echo three\` \`\`\` exit code 0 three \`\`\`
ada: /normal
heddle: From the next task on, I show here what I am doing.
heddle: Shown. (3 steps · TIME · N tokens · $N) [👍] [👎]
ada: And now? {answered}
heddle: **What was done** ✓ \`bash\` \`echo four\`
heddle: Done. (2 steps · TIME · N tokens · $N) [👍] [👎]`,
  },
  {
    title: "Ada wants it quiet",
    async play({ ada, heddle }) {
      await ada.mentions("/quiet");
      await heddle.shows("Nobody has asked me");
      await ada.mentions("Are you loud?");
      await heddle.answers("A little.");
      await ada.says("/quiet");
      await heddle.shows("From the next task on");
      await ada.says("Whisper.");
      heddle.calls(["bash", { command: "echo psst" }]);
      await heddle.answers("Psst.");
    },
    transcript: `
ada: /quiet
heddle: Nobody has asked me anything in this thread yet. Give me a task first, then say how much to show.
ada: Are you loud? {answered}
heddle: A little. (1 step · TIME · N tokens · $N) [👍] [👎]
ada: /quiet
heddle: From the next task on, I show only the answer here.
ada: Whisper. {answered}
heddle: Psst. (2 steps · TIME · N tokens · $N) [👍] [👎]`,
  },
  {
    title: "Ada plans a task, has the plans listed, and cancels it",
    async play({ ada, heddle }) {
      await ada.mentions("Remind us of the flowers.");
      const when = { cron: "0 9 * * *", time_zone: "Europe/Berlin" };
      heddle.calls(["schedule", { action: "create", task: "Water them.", ...when }]);
      await heddle.shows("Water them.");
      await heddle.answers("Each morning.");
      await ada.says("schedules");
      const id = /\bs[\da-f]{8}\b/.exec(await heddle.shows("(Europe/Berlin), next"))?.[0];
      await ada.says(`unschedule ${id}`);
      await heddle.shows(`Schedule \`${id}\` is cancelled.`);
    },
    transcript: `
ada: Remind us of the flowers. {answered}
heddle: **What was done** ✓ \`schedule\` \`Water them.\`
heddle: Each morning. (2 steps · TIME · N tokens · $N) [👍] [👎]
ada: schedules {answered}
heddle: - every day at 09:00 (Europe/Berlin), next DATE · \`ID\` by ada: Water them. \`!unschedule ID\` cancels it.
ada: unschedule ID {answered}
heddle: Schedule \`ID\` is cancelled.`,
  },
  {
    title: "Ada looks at what waits, and takes a message out",
    async play({ ada, heddle }) {
      await ada.mentions("Bake bread.");
      heddle.calls(["bash", { command: "echo kneading", title: "Knead the dough" }]);
      await heddle.shows("kneading");
      await heddle.reads(2, "exit code 0");
      await ada.says("With olives.");
      await ada.says("And with nuts.");
      await ada.says("/queue");
      const [, handle] =
        /`(m\d+)`[^\n]*And with nuts/.exec(await heddle.shows("Waiting in this thread")) ?? [];
      await ada.presses(`Take out ${handle}`, "Waiting in this thread");
      await heddle.marks("And with nuts", "stopped");
      heddle.calls(["bash", { command: "echo baking" }]);
      expect(await heddle.reads(3, "With olives.")).not.toContain("nuts");
      await heddle.answers("It is in the oven.");
    },
    transcript: `
ada: Bake bread. {answered}
heddle: **What was done** ✓ Knead the dough: \`bash\` \`echo kneading\` ✓ \`bash\` \`echo baking\`
ada: With olives. {answered}
ada: And with nuts. {stopped}
ada: /queue {answered}
heddle: **Waiting in this thread**, for the turn that is running 1. \`m2\` · ada, just now: With olives. 2. \`m3\` · ada, just now: And with nuts. N turns run in this channel. ${queueHint} [Take out m2] [Take out m3] [m3 first]
heddle: It is in the oven. (3 steps · TIME · N tokens · $N) [👍] [👎]`,
  },
  {
    title: "Bob chooses a skill for the thread, and to be mentioned when his work has ended",
    async play({ bob, heddle }) {
      await bob.mentions("What is new?");
      await heddle.answers("A brown loaf.");
      await bob.says("/skill changelog");
      await heddle.shows("is used here");
      // It holds for him in all threads, so it ends with this one.
      await bob.says("/notify on");
      await heddle.shows("I mention you whenever");
      await bob.says("Write it down.");
      await heddle.reads(2, "the skill changelog");
      await heddle.answers("It is written.");
      await bob.says("/notify default");
      await heddle.shows("if that is set up here");
    },
    transcript: `
bob: What is new? {answered}
heddle: A brown loaf. (1 step · TIME · N tokens · $N) [👍] [👎]
bob: /skill changelog {answered}
heddle: From the next task on, the skill changelog is used here.
bob: /notify on {answered}
heddle: I mention you whenever something that you asked for has ended, in all threads.
bob: Write it down. {answered}
heddle: It is written. (1 step · TIME · N tokens · $N) [👍] [👎]
bob: /notify default {answered}
heddle: I mention you when something that you asked for has ended if that is set up here for everybody.`,
  },
  {
    title: "An answer has a table",
    async play({ ada, heddle }) {
      await ada.mentions("Which files are large?");
      await heddle.answers(`Two are:\n\n${table}`);
    },
    transcript: `
ada: Which files are large? {answered}
heddle: Two are: ${oneLine(table)} (1 step · TIME · N tokens · $N) [👍] [👎]`,
  },
  {
    title: "A long answer comes whole",
    async play({ ada, heddle }) {
      await ada.mentions("List all rows.");
      await heddle.answers(rows);
    },
    transcript: `
ada: List all rows. {answered}
heddle: - row 1: ok - row 2: ok - row  … ok - row 399: ok - row 400: ok [5491 characters] (1 step · TIME · N tokens · $N) [👍] [👎]`,
  },
  {
    title: "Ada lets a task go on that has reached its limit",
    async play({ ada, heddle }) {
      await ada.mentions("Count to five.");
      heddle.calls(["bash", { command: "echo 1" }]);
      await heddle.shows("echo 1");
      for (const number of [2, 3, 4]) heddle.calls(["bash", { command: `echo ${number}` }]);
      await heddle.answers("I counted to four.");
      await ada.presses("Continue", "Paused at the limit");
      await heddle.answers("Five.");
    },
    transcript: `
ada: Count to five. {answered}
heddle: ⏸️ **Paused** ✓ \`bash\` \`echo 1\` ✓ \`bash\` \`echo 2\` ✓ \`bash\` \`echo 3\` ✓ \`bash\` \`echo 4\`
heddle: I counted to four. (4 steps · TIME · N tokens · $N)
heddle: **Paused at the limit of 4 steps for one turn.** ▶️ Continued by ada. {answered}
heddle: Five. (1 step · TIME · N tokens · $N) [👍] [👎]`,
  },
  {
    title: watched.title,
    needs: "watched channels",
    async play({ ada, bob, heddle }) {
      await ada.says("The deploy ends with a 503.");
      heddle.calls(["bash", { command: "echo looking into it" }]);
      await heddle.reads(2, "looking into it");
      await heddle.answers("Its certificate has ended.");
      await bob.says("Since when?");
      await heddle.answers("Since noon.");
    },
    transcript: `
ada: The deploy ends with a 503.
heddle: Its certificate has ended. (2 steps · TIME · N tokens · $N) [👍] [👎]
bob: Since when? {answered}
heddle: Since noon. (1 step · TIME · N tokens · $N) [👍] [👎]`,
  },
];
