import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { modelEnvironment, slackEnvironment } from "../tests/e2e/environment.ts";
import { newPlace, type Place, type Program } from "../tests/e2e/program.ts";
import { type FakeModelServer, type FakeReply, startFakeAnthropic } from "../tests/fakes/anthropic.ts";
import { startRedis, type TestRedis } from "../tests/fakes/redis.ts";
import { type FakeSlack, startFakeSlack } from "../tests/fakes/slack/fake-slack.ts";

/** The program with everything around it: a Slack and a model on the loopback interface, a Redis of its own. */
export interface ServedThread {
  place: Place;
  slack: FakeSlack;
  model: FakeModelServer;
  redis: TestRedis;
  /** What the program needs to find these. */
  environment: Record<string, string>;
  /** Starts it, by default gateway and worker in one process, and waits until it is ready. */
  heddle(args?: string[], env?: Record<string, string>): Promise<Program>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What the model says, from the text of the last message of the request. */
export type Script = (said: string) => FakeReply | Promise<FakeReply>;

/** @param settings what `heddle.yaml` holds; JSON is YAML */
export async function serveThread(script: Script, settings: object = {}): Promise<ServedThread> {
  const [place, slack, redis, model] = await Promise.all([
    newPlace(),
    startFakeSlack(),
    startRedis(),
    startFakeAnthropic({ replies: ({ messages }) => script(JSON.stringify(messages.at(-1)?.content)) }),
  ]);
  // So that sandbox users can reach the workspaces and everything is removed with the folder.
  await chmod(place.folder, 0o711);
  await writeFile(join(place.folder, "heddle.yaml"), JSON.stringify(settings));
  const environment = {
    REDIS_URL: redis.path,
    ...slackEnvironment(slack),
    ...modelEnvironment(model),
    HEDDLE_LOG_LEVEL: "warn",
    // As with `npm start`.
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? join(place.folder, "compile"),
  };
  return {
    place,
    slack,
    model,
    redis,
    environment,
    async heddle(args = [], env = {}) {
      const program = place.start(["start", ...args], { ...environment, ...env });
      await program.line(/Heddle is ready/);
      return program;
    },
    async [Symbol.asyncDispose]() {
      await place.clean();
      await Promise.all([slack.close(), model.close(), redis.stop()]);
    },
  };
}
