import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { shot } from "../browser/chromium.ts";
import { useBrowser, useSetting } from "./hooks.ts";
import { patienceMs } from "./program.ts";

/** What people are shown of calls that failed, were denied, or went well: in the whole program, wherever it is shown. */

const here = useSetting();
const chromium = useBrowser();

const settings = `
tools:
  rules:
    - { tool: bash, command: "git push*", action: ask, why: It leaves the house. }
    - { tool: bash, command: "rm *", action: deny, why: Nothing is deleted here. }
demo:
  scripts: scripts
  stepDelayMs: 0
`;

const script = `
steps:
  - calls:
      - tool: bash
        input: { command: "echo fine" }
  - calls:
      - tool: bash
        input: { command: "exit 3" }
  - calls:
      - tool: bash
        input: { command: "rm fence.txt" }
  - calls:
      - tool: bash
        input: { command: "git push origin main" }
  - text: "That is all."
`;

const environment = () => ({ REDIS_URL: here.redis.path });

test("a failed command has its exit code, a denied one is denied, and none is running in the end", async () => {
  await mkdir(join(here.place.folder, "scripts"));
  await writeFile(join(here.place.folder, "heddle.yaml"), settings);
  await writeFile(join(here.place.folder, "scripts", "all.yaml"), script);
  const program = here.place.start(["start"], environment());
  await program.line(/Heddle is ready/);
  const url = /console +(\S+)/.exec(await program.line(/^ +console /))?.[1] ?? "";
  const page = await chromium.browser.newPage();
  page.setDefaultTimeout(patienceMs);
  await page.goto(url);
  await page.getByLabel("Message to Heddle").fill("Do it all");
  await page.keyboard.press("Enter");

  // It waits, and is not shown as running.
  const lines = page.locator("article.progress li");
  const waiting = lines.filter({ hasText: "git push" });
  await waiting.getByText("waiting for a decision").waitFor();
  await page.getByRole("button", { name: "Deny", exact: true }).click();
  await page.getByText("That is all.", { exact: true }).waitFor();

  const stateOf = async (command: string) => await lines.filter({ hasText: command }).innerText();
  await lines.filter({ hasText: "git push" }).getByText("denied").waitFor();
  await shot(page, "true-states");
  expect(await stateOf("echo fine")).not.toMatch(/failed|running|denied/);
  expect(await stateOf("exit 3")).toMatch(/exit code 3\s+failed/);
  expect(await stateOf("rm fence.txt")).toMatch(/denied/);
  expect(await stateOf("git push")).not.toMatch(/failed|running|waiting/);
  const signs = (command: string, sign: string) =>
    lines.filter({ hasText: command }).locator(`.sign.${sign}`).count();
  expect(await signs("echo fine", "answered")).toBe(1);
  for (const command of ["exit 3", "rm fence.txt", "git push"])
    expect(await signs(command, "answered")).toBe(0);

  await page.getByRole("link", { name: "Timeline", exact: true }).click();
  const calls = page.locator(".tool-call");
  await calls
    .filter({ hasText: "git push" })
    .getByText(/^denied · /)
    .waitFor();
  await calls
    .filter({ hasText: "rm fence.txt" })
    .getByText(/^denied · /)
    .waitFor();
  await calls
    .filter({ hasText: "exit 3" })
    .getByText(/^exit code 3 · /)
    .waitFor();
  await calls
    .filter({ hasText: "echo fine" })
    .getByText(/^done · /)
    .waitFor();
  expect((await calls.allInnerTexts()).join("\n")).not.toMatch(/running|not started/);

  program.signal("SIGTERM");
  await program.ended;
  const log = here.place.start(["audit", "show"], environment());
  expect(await log.ended).toBe(0);
  const ended = log.output().matchAll(/tool-ended .*"status":"(\w+)"(?:,"exitCode":(\d+))?/g);
  expect([...ended].map(([, status, code]) => [status, code])).toEqual([
    ["ok", undefined],
    ["error", "3"],
    ["denied", undefined],
    ["denied", undefined],
  ]);

  const run = here.place.start(["run", "Do it all"], environment());
  expect(await run.ended).toBe(0);
  expect(run.output()).toMatch(/failed · [^\n]*exit code 3/);
  expect(run.output()).toMatch(/denied · [^\n]*DENIED/);
  expect(run.output()).not.toMatch(/ok · [^\n]*exit code 3/);
});
