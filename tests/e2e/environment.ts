import type { FakeModelServer } from "../fakes/anthropic.ts";
import type { FakeSlack } from "../fakes/slack/fake-slack.ts";

/** What a program needs to find this model. */
export const modelEnvironment = ({ apiKey, url }: Pick<FakeModelServer, "apiKey" | "url">) => ({
  ANTHROPIC_API_KEY: apiKey,
  ANTHROPIC_BASE_URL: url,
});

/** What a program needs to find this Slack. */
export const slackEnvironment = ({ botToken, appToken, url }: FakeSlack) => ({
  SLACK_BOT_TOKEN: botToken,
  SLACK_APP_TOKEN: appToken,
  SLACK_API_URL: url,
});
