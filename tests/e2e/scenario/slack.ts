import type { MessageMark } from "../../../src/adapters/adapter.ts";
import { buttonsOf, visibleBlocks } from "../../fakes/slack/blocks.ts";
import { type FakeSlack, startFakeSlack } from "../../fakes/slack/fake-slack.ts";
import type { FakeMessage } from "../../fakes/slack/workspace.ts";
import { patienceMs, type Platform, type PlatformKind, type Room, type Seen } from "./chat.ts";

const marks: Record<string, MessageMark> = {
  eyes: "taken",
  hourglass: "waiting",
  white_check_mark: "answered",
  octagonal_sign: "stopped",
  warning: "failed",
};

export const slackKind: PlatformKind = { name: "Slack", lacks: [], open };

async function open(): Promise<Platform<FakeMessage>> {
  const slack = await startFakeSlack();
  slack.user("eve", { guest: true });
  return {
    environment: {
      SLACK_BOT_TOKEN: slack.botToken,
      SLACK_APP_TOKEN: slack.appToken,
      SLACK_API_URL: slack.url,
    },
    rules: { budgets: { users: { [`slack:${slack.teamId}:${slack.user("max").id}`]: { tokens: 1 } } } },
    room: async (name) => roomIn(slack, name),
    names: (text) => text,
    close: () => slack.close(),
  };
}

function roomIn(slack: FakeSlack, name: string): Room<FakeMessage> {
  const channel = slack.channel(name);
  const handled = () => slack.until(() => slack.deliveries.every(({ isAcknowledged }) => isAcknowledged));
  return {
    messages: () => channel.messages,
    seen: (message) => seen(slack, message),
    async says(who, text, { mention, file }) {
      const [root] = channel.messages;
      // Slack keeps what begins with a slash to itself, so people write `!quiet`.
      const written = text.replace(/^\//, "!");
      await slack.user(who).says(channel, mention ? `<@BOT> ${written}` : written, {
        ...(root && { thread: root.ts }),
        ...(file && { files: [{ ...file, mediaType: "text/csv" }] }),
      });
    },
    async edits(who, message, text) {
      await slack.user(who).edits(message, text);
      await handled();
    },
    async deletes(who, message) {
      await slack.user(who).deletes(message);
      await handled();
    },
    stops: (who, message) => slack.user(who).reacts("octagonal_sign", message),
    async presses(who, label, message, sentence) {
      const person = slack.user(who);
      const button = buttonsOf(message).find(({ text }) => text.text === label);
      const press = await person.presses(button?.action_id ?? label, message);
      await slack.until(() => press.isAcknowledged);
      if (sentence === undefined) return;
      await slack.until(() => person.modal());
      const submission = person.submits(sentence);
      await slack.until(() => submission.isAcknowledged);
    },
    async file(message, fileName) {
      const found = message.files.find((one) => one.name === fileName);
      return found?.content?.toString() ?? "";
    },
    until: (condition) => slack.until(condition, patienceMs),
  };
}

function seen(slack: FakeSlack, message: FakeMessage): Seen {
  const blocks = (kinds: string[]) =>
    visibleBlocks(message.blocks.filter(({ type }) => kinds.includes(type))).trim();
  // Where tasks are shown as cards, notifications and screen readers get the list of the other platforms.
  const hasCards = message.blocks.some(({ type }) => type === "plan");
  const text = hasCards || message.blocks.length === 0 ? unescape(message.text) : blocks(["markdown"]);
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
