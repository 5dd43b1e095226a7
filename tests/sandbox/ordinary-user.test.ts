import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, closeSync, openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { closedFolder, secret } from "./two-threads.ts";
import { testCases } from "./test-cases.ts";

/** Nobody: needs no account, and root can become it. */
const user = 65534;
const program = fileURLToPath(new URL("./ordinary-user.ts", import.meta.url));
const obstacle =
  process.getuid?.() === 0
    ? spawnSync(process.execPath, ["--check", program], { uid: user, gid: user }).status === 0
      ? undefined
      : "ordinary users cannot read this checkout or run its Node"
    : "only root can start a bot as another user; own-user.test.ts has run as one";

describe.skipIf(obstacle)(
  `the sandboxes of an ordinary user's bot${obstacle ? ` (skipped: ${obstacle})` : ""}`,
  () => {
    const dataDir = closedFolder();
    let bot: ChildProcess;

    beforeAll(() => {
      chownSync(dataDir, user, user);
      // A descriptor that the bot got from its own parent and does not know of.
      writeFileSync(join(dataDir, "inherited"), secret);
      const inherited = openSync(join(dataDir, "inherited"), "r");
      const unused = Array.from({ length: 5 }, () => "ignore" as const);
      bot = fork(program, [dataDir], {
        uid: user,
        gid: user,
        execArgv: [],
        cwd: "/",
        env: { PATH: process.env.PATH, SLACK_BOT_TOKEN: secret },
        stdio: ["ignore", "inherit", "inherit", "ipc", ...unused, inherited],
      });
      closeSync(inherited);
    });

    afterAll(async () => {
      const ended = once(bot, "exit");
      bot.disconnect();
      await ended;
      rmSync(dataDir, { recursive: true });
    });

    testCases(async (name) => {
      bot.send(name);
      // The program beside this file sends nothing else.
      const [answer] = (await once(bot, "message")) as [{ failure?: string }];
      expect(answer.failure).toBeUndefined();
    });
  },
);
