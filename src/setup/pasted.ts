/** What a pasted text is, by its form. */
export type PastedKind =
  | "slack-bot-token"
  | "slack-app-token"
  | "slack-user-token"
  | "slack-configuration-token"
  | "slack-refresh-token"
  | "hexadecimal-secret"
  | "discord-token"
  | "discord-application-id"
  | "discord-public-key"
  | "discord-client-secret"
  | "anthropic-key"
  | "openai-key"
  | "unknown";

export interface Pasted {
  kind: PastedKind;
  /** Without what came along with it. */
  value: string;
}

/** Forms that the services have not documented everywhere, so an unknown one is for the service to judge. */
const forms: readonly [PastedKind, RegExp][] = [
  ["slack-bot-token", /^xoxb-/],
  ["slack-app-token", /^xapp-/],
  ["slack-user-token", /^xoxp-/],
  ["slack-configuration-token", /^xoxe\.xoxp-/],
  ["slack-bot-token", /^xoxe\.xoxb-/],
  ["slack-refresh-token", /^xoxe-/],
  ["anthropic-key", /^sk-ant-/],
  ["openai-key", /^sk-/],
  ["hexadecimal-secret", /^[0-9a-f]{32}$/],
  ["discord-public-key", /^[0-9a-f]{64}$/],
  ["discord-application-id", /^\d{17,20}$/],
  ["discord-token", /^[\w-]{18,}\.[\w-]{5,}\.[\w-]{20,}$/],
  ["discord-client-secret", /^[\w-]{32}$/],
];

/** Takes off what people copy along: spaces, quotes, `NAME=`, `Bearer`, line ends and characters that nobody sees. */
export function readPasted(text: string): Pasted {
  const value = strip(text.replaceAll(/[\p{Cf}\p{Cc}]/gu, "").trim());
  return { kind: forms.find(([, form]) => form.test(value))?.[0] ?? "unknown", value };
}

function strip(text: string): string {
  const bare = text
    .replace(/^(?:export\s+)?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\s*[=:]\s*/, "")
    .replace(/^(?:Bearer|Bot)\s+/, "")
    .replace(/^["'`“”‘’«»]+|["'`“”‘’«»,;]+$/g, "")
    .trim();
  // One layer may hide another: `NAME="Bearer …"`.
  return bare === text ? bare : strip(bare);
}

const names: Record<PastedKind, string> = {
  "slack-bot-token": "Slack's bot token",
  "slack-app-token": "Slack's app-level token",
  "slack-user-token":
    "a user token of Slack (xoxp-…), which acts as a person: the bot token begins with xoxb-",
  "slack-configuration-token":
    "a configuration token of Slack, which makes apps: the bot token begins with xoxb-",
  "slack-refresh-token": "a refresh token of Slack, which does nothing here",
  "hexadecimal-secret": "a secret of 32 hexadecimal digits, such as Slack's signing secret or client secret",
  "discord-token": "a bot token of Discord",
  "discord-application-id": "an application id: the token is under Bot → Reset Token and has two dots in it",
  "discord-public-key": "the public key: the token is under Bot → Reset Token and has two dots in it",
  "discord-client-secret": "a client secret: the token is under Bot → Reset Token and has two dots in it",
  "anthropic-key": "a key of Anthropic",
  "openai-key": "a key of OpenAI",
  unknown: "nothing that Heddle knows",
};

/** For a sentence: "That is …". */
export function describePasted(kind: PastedKind): string {
  return names[kind];
}
