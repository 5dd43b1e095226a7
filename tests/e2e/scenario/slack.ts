import type { ShownMark } from "../../../src/chat/outbound.ts";
import { buttonsOf, visibleBlocks, visibleText } from "../../fakes/slack/blocks.ts";
import { type FakeSlack, startFakeSlack } from "../../fakes/slack/fake-slack.ts";
import type { FakeMessage } from "../../fakes/slack/workspace.ts";
import { slackEnvironment } from "../environment.ts";
import { patienceMs } from "../program.ts";
import { oneLine, table, watched } from "./acts.ts";
import type { Platform, PlatformKind, Room, Seen } from "./chat.ts";

const marks: Record<string, ShownMark> = {
  eyes: "taken",
  hourglass: "waiting",
  white_check_mark: "answered",
  octagonal_sign: "stopped",
  warning: "failed",
  double_vertical_bar: "paused",
};

export const slackKind: PlatformKind = { name: "Slack", lacks: [], open };

/** Does one thing after the other. */
type WithOneModal = (act: () => Promise<void>) => Promise<void>;

async function open(): Promise<Platform<FakeMessage>> {
  const slack = await startFakeSlack({ patienceMs });
  // What people read is compared with platforms on which nothing grows; streams.test.ts has what is Slack's alone.
  slack.refuse("chat.startStream", () => "unknown_method");
  slack.user("eve", { guest: true });
  // The people are the same in all rooms, and have one window open at a time.
  let last = Promise.resolve();
  const withOneModal: WithOneModal = (act) => (last = last.catch(() => undefined).then(act));
  return {
    environment: {
      ...slackEnvironment(slack),
    },
    rules: {
      channels: { [`slack:${slack.teamId}:${slack.channel(watched.title).id}`]: { watch: watched.watch } },
      budgets: { users: { [`slack:${slack.teamId}:${slack.user("max").id}`]: { tokens: 1 } } },
    },
    channel: (name) => `slack:${slack.teamId}:${slack.channel(name).id}`,
    room: async (name) => roomIn(slack, name, withOneModal),
    names: (text) =>
      text
        .split("\n")
        .map(nameProgress)
        .join("\n")
        .replace(oneLine(table), "| file | MB | | a.iso | 700 | | b.zip | 80 |"),
    close: () => slack.close(),
  };
}

function roomIn(slack: FakeSlack, name: string, withOneModal: WithOneModal): Room<FakeMessage> {
  const channel = slack.channel(name);
  /** Does something of which Slack tells at once, and waits until the program has it. */
  const handled = async (act: () => Promise<unknown>) => {
    const before = slack.deliveries.length;
    const done = act();
    const told = slack.deliveries.slice(before);
    await done;
    await slack.until(() => told.every(({ isAcknowledged }) => isAcknowledged));
  };
  return {
    messages: () => channel.messages,
    seen: (message) => seen(slack, message),
    drawn: (message) =>
      unescape(visibleText(message))
        .replaceAll(/^<@\w+> /g, "@Heddle ")
        .replaceAll(/<@\w+>/g, "@…"),
    async says(who, text, { mention, file }) {
      const [root] = channel.messages;
      // Slack keeps what begins with a slash to itself, so people write `!quiet`.
      const written = text.replace(/^\//, "!");
      const more = {
        ...(root && { thread: root.ts }),
        ...(file && { files: [{ ...file, mediaType: "text/csv" }] }),
      };
      await handled(() => slack.user(who).says(channel, mention ? `<@BOT> ${written}` : written, more));
    },
    edits: (who, message, text) => handled(() => slack.user(who).edits(message, text)),
    deletes: (who, message) => handled(() => slack.user(who).deletes(message)),
    stops: (who, message) => slack.user(who).reacts("octagonal_sign", message),
    async presses(who, label, message, sentence) {
      const person = slack.user(who);
      const button = buttonsOf(message).find(({ text }) => text.text === label);
      const press = async () => {
        const pressed = await person.presses(button?.action_id ?? label, message);
        await slack.until(() => pressed.isAcknowledged);
      };
      if (sentence === undefined) return press();
      await withOneModal(async () => {
        await press();
        await slack.until(() => person.modal());
        const submission = person.submits(sentence);
        await slack.until(() => submission.isAcknowledged);
      });
    },
    toldAlone: (who) =>
      slack.workspace.ephemerals
        .filter((told) => told.user === slack.user(who).id && told.channel === channel.id)
        .map(({ text }) => unescape(text)),
    async file(message, fileName) {
      const found = message.files.find((one) => one.name === fileName);
      return found?.content?.toString() ?? "";
    },
    until: (condition) => slack.until(condition),
  };
}

/** Progress is shown as cards, and told to notifications and screen readers in words without marks. */
function nameProgress(line: string): string {
  if (!/^heddle: (?:\*\*What was done|⏸️ \*\*Paused|🛑 \*\*Stopped)\*\*/.test(line)) return line;
  return line
    .replaceAll(/```\s?/g, "")
    .replaceAll(/`|\*\*/g, "")
    .trimEnd();
}

function seen(slack: FakeSlack, message: FakeMessage): Seen {
  const blocks = (kinds: string[]) =>
    visibleBlocks(message.blocks.filter(({ type }) => kinds.includes(type))).trim();
  // Where tasks are shown as cards, notifications and screen readers get the list of the other platforms.
  const hasCards = message.blocks.some(({ type }) => type === "plan");
  const text =
    hasCards || message.blocks.length === 0 ? unescape(message.text) : blocks(["markdown", "data_table"]);
  const own = [...message.reactions].find(([, users]) => users.has(slack.bot.id))?.[0] ?? "";
  return {
    who: message.user.name,
    text: text.replace(/^<@\w+> /, "").replace(/^!/, "/"),
    footer: unescape(blocks(["context"])).replaceAll(/^\(|\)$/g, ""),
    mark: marks[own],
    buttons: buttonsOf(message).map((button) => button.text.text),
    files: message.files.map(({ name }) => name),
  };
}

function unescape(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
