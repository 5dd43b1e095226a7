import { expect, test } from "vitest";
import { readPasted } from "../../src/setup/pasted.ts";

test.each([
  ["  xoxb-1-abc \r\n", "slack-bot-token", "xoxb-1-abc"],
  ['SLACK_BOT_TOKEN="xoxb-1-abc"', "slack-bot-token", "xoxb-1-abc"],
  ["export SLACK_APP_TOKEN='xapp-1-A1-2-abc'", "slack-app-token", "xapp-1-A1-2-abc"],
  ["“xapp-1-A1-2-abc”", "slack-app-token", "xapp-1-A1-2-abc"],
  ["Bearer xoxp-1", "slack-user-token", "xoxp-1"],
  ["xoxe.xoxp-1-abc", "slack-configuration-token", "xoxe.xoxp-1-abc"],
  ["xoxe-1-abc", "slack-refresh-token", "xoxe-1-abc"],
  ["8f742231b10e8888abcd99bbbccc85a5", "hexadecimal-secret", "8f742231b10e8888abcd99bbbccc85a5"],
  ["Bot MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcDE.abcdefghijklmnopqrstuvwxyz", "discord-token", undefined],
  ["123456789012345678", "discord-application-id", undefined],
  ["a".repeat(64), "discord-public-key", undefined],
  ["AbCdEfGhIjKlMnOpQrStUvWxYz_-0123", "discord-client-secret", undefined],
  ["ANTHROPIC_API_KEY=sk-ant-api03-x", "anthropic-key", "sk-ant-api03-x"],
  ["\u200bsk-proj-x\ufeff", "openai-key", "sk-proj-x"],
  ["a key with an = in it", "unknown", "a key with an = in it"],
  ["", "unknown", ""],
])("%j is %s", (text, kind, value) => {
  const pasted = readPasted(text);
  expect(pasted.kind).toBe(kind);
  if (value !== undefined) expect(pasted.value).toBe(value);
});
