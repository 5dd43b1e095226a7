/** Tool calls in the conversation: unfolded in place, live, and those that the message leaves out. */
import { describe, expect, test } from "vitest";
import type { ShownCall } from "../../src/chat/outbound.ts";
import { threadId } from "../../src/chat/threads.ts";
import { begin, call, calling, resultOf, write } from "../adapters/console/sessions.ts";
import { shot } from "./chromium.ts";
import { article, openConsolePage, useConsolePages } from "./console-page.ts";
import { poorContrast } from "./visibility.ts";

const esc = "\u001B";

describe("the calls of a message", () => {
  useConsolePages();

  test("unfold to what they were given and what came of it, also those before the ones that are listed", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const { thread } = await opened.asks("Test it");
    const redis = console.redis.client();
    const id = threadId(thread);
    await write(redis, id, "Test it");
    const lease = await begin(redis, id, "t1");
    const commands = Array.from({ length: 14 }, (_, n) => (n === 13 ? "npm test" : `ls ${n}`));
    const failed = `exit code 1\n${esc}[31mFAIL${esc}[0m a.test.ts\n${esc}[32m3 passed${esc}[0m\n10%\r60%\r100%`;
    // Some models give all their calls one id.
    for (const [n, command] of commands.entries())
      await lease.append([
        calling(n + 1, [call("c", "bash", { command, timeout_seconds: 60 })]),
        { type: "tool-start", callId: "c", at: Date.now() },
        resultOf("c", "bash", n === 13 ? failed : `exit code 0\nfile ${n}`),
      ]);
    const items = commands.map(
      (command, n): ShownCall => ({
        ...{ id: String(n), callId: "c", name: "bash", about: n === 13 ? "npm test · exit code 1" : command },
        ...{ state: n === 13 ? "error" : "ok", tookMs: 420 },
      }),
    );
    const calls = {
      title: "Done",
      above: "✅ **Done**",
      below: "",
      turn: "t1",
      earlier: 2,
      items: items.slice(2),
    };
    await console.surface.post(thread, { kind: "progress", markdown: "", calls }, "progress");

    const progress = article(page, "progress");
    const line = (about: string) =>
      progress.locator("li").filter({ has: page.getByText(about, { exact: true }) });
    await line("npm test · exit code 1").locator("summary").click();
    const red = line("npm test · exit code 1").locator(".ansi-red");
    await red.waitFor();
    expect(await red.textContent()).toBe("FAIL");
    expect(await line("npm test · exit code 1").locator(".call pre").last().textContent()).toBe(
      "FAIL a.test.ts\n3 passed\n100%",
    );
    expect(await line("npm test · exit code 1").locator(".figures").textContent()).toContain(
      "exit code 1420 ms",
    );
    expect(await line("npm test · exit code 1").locator("dd").allTextContents()).toEqual(["npm test", "60"]);

    await progress.getByText("2 earlier calls").click();
    await line("ls 1 · 60").locator("summary").click();
    await line("ls 1 · 60").locator("pre").getByText("file 1").waitFor();
    await line("ls 2").locator("summary").click();
    await line("ls 2").locator("pre").getByText("file 2").waitFor();
    expect(await progress.locator("ol.calls > li").count()).toBe(14);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await shot(page, `calls-${colorScheme}`);
      expect(await poorContrast(page)).toEqual({});
    }
    opened.expectInnocent();
  });

  test("show what a command prints while it runs, and for how long it has been running", async () => {
    await using opened = await openConsolePage();
    const { page, console } = opened;
    const { thread } = await opened.asks("Build it");
    const redis = console.redis.client();
    await write(redis, threadId(thread), "Build it");
    const lease = await begin(redis, threadId(thread), "t1");
    await lease.append([
      calling(1, [call("c1", "bash", { command: "make" })]),
      { type: "tool-start", callId: "c1", at: Date.now() },
    ]);
    const make = { id: "0", callId: "c1", name: "bash", about: "make" };
    const progress = (item: Partial<ShownCall>) => ({
      ...{ kind: "progress" as const, stoppable: true, markdown: "" },
      calls: {
        title: "Working",
        above: "⏳",
        below: "",
        turn: "t1",
        items: [{ ...make, state: "running" as const, ...item }],
      },
    });
    const startedAt = Date.now() - 65_000;
    const [ref] = await console.surface.post(
      thread,
      progress({ startedAt, output: "[1/9] a.c\r[2/9] b.c" }),
      "p",
    );
    if (!ref) throw new Error("nothing was posted");
    const line = article(page, "progress").locator("li");
    await line.getByText("[2/9] b.c").waitFor();
    await line.getByText(/^1 min \d+ s$/).waitFor();
    await line.locator("summary").click();
    await line.getByText("not ended").waitFor();
    await shot(page, "call-running");

    await lease.append([resultOf("c1", "bash", "exit code 0\nbuilt")]);
    await console.surface.edit(ref, progress({ state: "ok", tookMs: 66_000 }));
    await line.locator("pre").getByText("built").waitFor();
    expect(await line.locator(".elapsed").count()).toBe(0);
    expect(await line.getByText("b.c").isVisible()).toBe(false);
    opened.expectInnocent();
  });
});
