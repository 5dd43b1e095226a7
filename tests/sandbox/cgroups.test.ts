import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { possibleTiers } from "../../src/sandbox/bubblewrap/limits/cgroup-tiers.ts";
import { findResourceGroups, homePrefix } from "../../src/sandbox/bubblewrap/limits/cgroups.ts";
import { defaultLimits } from "../../src/sandbox/limits.ts";

/** Above what the kernel gives to a process. */
const deadPid = 2 ** 22 + 1;

/**
 * What a killed bot has left in the groups that this machine has for that tier.
 *
 * @param prefix of another PID namespace, where it is not of this one
 */
function leaveGroups(summary: string, prefix = homePrefix): string[] {
  const [groups = "", mounts = ""] = ["/proc/self/cgroup", "/proc/mounts"].map((file) =>
    readFileSync(file, "utf8"),
  );
  const homes = possibleTiers(defaultLimits, groups, mounts)
    .filter((tier) => tier.summary === summary)
    .flatMap(({ memory, others }) => [memory, ...others])
    .map(({ parent }) => join(parent, `${prefix}${deadPid}`));
  for (const home of homes) {
    for (const group of Array(60).keys()) mkdirSync(join(home, String(group)), { recursive: true });
  }
  return homes;
}

test("Bots that start at one moment all find the same limits, and sweep what a killed one has left", async (context) => {
  const { summary } = await findResourceGroups(defaultLimits);
  context.skip(summary.includes("tier 3"), "no writable control group on this host");
  const homes = leaveGroups(summary);
  const program = fileURLToPath(new URL("./cgroup-seeker.ts", import.meta.url));
  const bots = Array.from({ length: 4 }, () => fork(program));
  await Promise.all(bots.map((bot) => once(bot, "message")));
  const found = bots.map(async (bot) => {
    bot.send("go");
    const [told] = await once(bot, "message");
    return String(told);
  });
  expect(await Promise.all(found)).toEqual(bots.map(() => summary));
  expect(homes.filter((home) => existsSync(home))).toEqual([]);
});

test("What belongs to a bot in another PID namespace, whose number says nothing here, is left alone", async (context) => {
  const { summary } = await findResourceGroups(defaultLimits);
  context.skip(summary.includes("tier 3"), "no writable control group on this host");
  const homes = leaveGroups(summary, "heddle-1-");
  onTestFinished(() => {
    for (const home of homes) {
      for (const group of readdirSync(home, { withFileTypes: true }))
        if (group.isDirectory()) rmdirSync(join(home, group.name));
      rmdirSync(home);
    }
  });
  await findResourceGroups(defaultLimits);
  expect(homes.filter((home) => !existsSync(home))).toEqual([]);
});

test("A bot of real-time priority, whose processes a control group may refuse, finds other limits and lives on", async () => {
  const program = fileURLToPath(new URL("./cgroup-seeker.ts", import.meta.url));
  const bot = spawn("chrt", ["--rr", "1", process.execPath, program], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  await once(bot, "message");
  bot.send("go");
  const [told] = await once(bot, "message");
  expect(told).toMatch(/^limits tier [123] \(/);
});
