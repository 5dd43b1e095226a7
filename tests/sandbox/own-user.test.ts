import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe } from "vitest";
import { dataFolder, secret } from "./two-threads.ts";
import { caseRunner } from "./cases.ts";
import { testCases } from "./test-cases.ts";

const isRoot = process.getuid?.() === 0;

describe(`the sandboxes of a bot that runs as ${isRoot ? "root" : "an ordinary user"}`, () => {
  const dataDir = dataFolder();
  const runner = caseRunner(dataDir);
  beforeAll(() => {
    process.env.SLACK_BOT_TOKEN = secret;
  });
  afterAll(async () => {
    delete process.env.SLACK_BOT_TOKEN;
    await runner.close();
    rmSync(dataDir, { recursive: true });
  });
  testCases(runner.run);
});
