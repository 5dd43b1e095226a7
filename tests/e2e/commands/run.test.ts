import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startFakeAnthropic } from "../../fakes/anthropic.ts";
import { modelEnvironment } from "../environment.ts";
import { useSetting } from "../hooks.ts";
import { processesWith, running, uniqueSleep } from "../processes.ts";

const here = useSetting();

/** The demo model answers at once, where nobody looks at how it appears. */
const hurry = () => writeFile(join(here.place.folder, "heddle.yaml"), "demo: { stepDelayMs: 0 }");
const heddle = (args: string[], env: Record<string, string> = {}) =>
  here.place.start(args, { REDIS_URL: here.redis.path, ...env });

describe("heddle run", () => {
  test("does a task through queue, worker and sandbox, and exits with 0", async () => {
    const program = heddle(["run", "Write", "a", "calculator", "in", "Python"]);
    expect(await program.ended).toBe(0);
    expect(program.output()).toMatch(/▸ write_file calculator\.py[\s\S]*(6 \* 7 = 42|no python3)/);
  });

  test("does its task to the end where nobody reads any more what it says", async () => {
    await hurry();
    const program = heddle(["run", "Write a calculator", "--out", "out"]);
    program.hangUp("stdout");
    program.hangUp("stderr");
    expect(await program.ended).toBe(0);
    expect(await readFile(join(here.place.folder, "out/calculator.py"), "utf8")).toContain("def ");
  });

  test("prints the events as JSON lines", async () => {
    await hurry();
    const program = heddle(["run", "--json", "Write a calculator"]);
    await program.ended;
    const events = program
      .output()
      .split("\n")
      .filter((line) => line.startsWith('{"type"'))
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect(new Set(events)).toEqual(
      new Set([
        "thread",
        "turn-start",
        "nudge",
        "step-start",
        "text-delta",
        "thinking-delta",
        "assistant",
        "tool-start",
        "tool-output",
        "tool-end",
        "turn-end",
      ]),
    );
    expect(events[0]).toBe("thread");
    expect(events.at(-1)).toBe("turn-end");
  });

  test.each([
    ["Ctrl-C", "SIGINT"],
    ["the program timeout", "SIGTERM"],
  ] as const)("is stopped by %s with nothing left, and exits with 130", async (_by, signal) => {
    const model = await startFakeAnthropic();
    const { command, seconds } = uniqueSleep();
    model.push({ content: [{ type: "tool_use", name: "bash", input: { command } }] });
    const program = heddle(["run", "sleep"], {
      ...modelEnvironment(model),
    });
    await running(command);
    program.signal(signal);
    expect(await program.ended).toBe(130);
    expect(program.output()).toContain("0 left alive");
    expect(processesWith(seconds)).toEqual([]);
    await model.close();
  });

  test("goes on with an earlier thread under the id that it printed", async () => {
    const model = await startFakeAnthropic();
    model.push(
      { content: [{ type: "text", text: "Blue." }] },
      { content: [{ type: "text", text: "Still blue." }] },
    );
    const env = modelEnvironment(model);
    const first = heddle(["run", "Which colour?"], env);
    expect(await first.ended).toBe(0);
    const thread = /heddle run --thread (\S+) /.exec(first.output())?.[1] ?? "";
    const second = heddle(["run", "--thread", thread, "And now?"], env);
    expect(await second.ended).toBe(0);
    expect(second.output()).toContain("Still blue.");
    expect(JSON.stringify(model.bodies[1]?.messages)).toMatch(/Which colour\?.*Blue\..*And now\?/);
    await model.close();
  });

  test("takes files along, and puts the workspace into a folder in the end", async () => {
    const model = await startFakeAnthropic();
    const bash = (command: string) => ({
      content: [{ type: "tool_use" as const, name: "bash", input: { command } }],
    });
    model.push(bash("cp -r attachments all && ls all"), { content: [{ type: "text", text: "Done." }] });
    await writeFile(join(here.place.folder, "list.csv"), "a,b\n");
    const program = heddle(["run", "Read it", "--file", "list.csv", "--out", "out"], modelEnvironment(model));
    expect(await program.ended).toBe(0);
    expect(await readFile(join(here.place.folder, "out/all/list.csv"), "utf8")).toBe("a,b\n");
    expect(program.output()).toMatch(
      /Its files: heddle workspaces export local:\S+ \(\/\S+\)\nCopied to \S+out\n/,
    );
    await model.close();
  });

  test("prints what a text command has to say, and why one cannot be followed", async () => {
    await hurry();
    const status = heddle(["run", "!status"]);
    expect(await status.ended).toBe(0);
    expect(status.output()).toContain("**This thread**: nothing to do");
    const json = heddle(["run", "--json", "!status"]);
    expect(await json.ended).toBe(0);
    expect(json.output()).toMatch(/^\{"type":"reply","markdown":"\*\*This thread.*\}$/m);
    const undo = heddle(["run", "!undo"]);
    expect(await undo.ended).toBe(1);
    expect(undo.output()).toContain("There is nothing to undo here: ask me for something first.");
  });

  test("without a task says what is missing", async () => {
    const program = heddle(["run"]);
    expect(await program.ended).toBe(2);
    expect(program.output()).toContain("There is no task");
  });
});
