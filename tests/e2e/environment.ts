import { existsSync } from "node:fs";
import { mkdir, readdir, symlink } from "node:fs/promises";
import { delimiter, join } from "node:path";
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

/** PATH of a host where neither Redis nor Valkey is installed. */
export async function pathWithoutRedis(folder: string): Promise<string> {
  const bin = join(folder, "bin");
  await mkdir(bin);
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((each) => existsSync(each));
  for (const from of folders) {
    for (const name of await readdir(from)) {
      if (!/^(redis|valkey)-/.test(name) && !existsSync(join(bin, name)))
        await symlink(join(from, name), join(bin, name)).catch(() => undefined);
    }
  }
  return bin;
}
