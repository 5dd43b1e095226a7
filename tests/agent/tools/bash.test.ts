import { describe, expect, test } from "vitest";
import type { TurnAbort } from "../../../src/agent/events.ts";
import { bash } from "../../../src/agent/tools/bash.ts";
import type { ExecRequest, ExecResult, Sandbox } from "../../../src/sandbox/sandbox.ts";
import { callOf, dispatcherOf, memoryNotes, run } from "./services.ts";
import { workspaces } from "./workspace.ts";

const workspace = workspaces();

describe("a command's result", () => {
  test("has both streams and the exit code", async () => {
    const { use } = await workspace();
    const { status, text } = await use("bash", { command: "echo a; echo b >&2" });
    expect([status, text]).toEqual(["ok", "exit code 0\na\n[stderr]\nb"]);
  });

  test("is no failure when the exit code is not 0, and keeps all output", async () => {
    const { use } = await workspace();
    const { status, text } = await use("bash", { command: "echo DETAILS; exit 3" });
    expect([status, text]).toEqual(["ok", "exit code 3\nDETAILS"]);
  });

  test("says when there is no output", async () => {
    const { use } = await workspace();
    expect((await use("bash", { command: "true" })).text).toBe("exit code 0\n(no output)");
  });

  test("comes from bash, not from sh", async () => {
    const { use } = await workspace();
    expect((await use("bash", { command: "[[ 1 == 1 ]] && echo ok" })).text).toContain("ok");
  });

  test("knows nothing of the host's environment", async () => {
    process.env["HEDDLE_TEST_SECRET"] = "of-the-host";
    const { use } = await workspace();
    const { text } = await use("bash", { command: 'echo "<$HEDDLE_TEST_SECRET>"; env' });
    delete process.env["HEDDLE_TEST_SECRET"];
    expect(text).toContain("<>");
    expect(text).not.toContain("of-the-host");
  });

  test("of 2 MB is cut for the model and whole in the workspace", async () => {
    const { use, content } = await workspace();
    const { text } = await use("bash", { command: "yes 0123456789 | head -c 2000000; echo END" });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(51_200);
    expect(text).toMatch(/^exit code 0\n0123456789\n/);
    expect(text).toMatch(/END$/);
    const path = /All of it is in (\S+):/.exec(text)?.[1] ?? "";
    const full = await content(path);
    expect(full.length).toBeGreaterThan(2_000_000);
    expect(full).toMatch(/END$/);
    expect((await use("bash", { command: "git init -q; git status --short" })).text).toContain("(no output)");
  });

  test("shows up live", async () => {
    const chunks: string[] = [];
    const { use } = await workspace({ output: (_, chunk) => chunks.push(chunk) });
    await use("bash", { command: "echo one; echo two" });
    expect(chunks.join("")).toBe("one\ntwo\n");
  });
});

describe("a command that is ended", () => {
  test("for its time shows what it had printed, and leaves nothing alive", async () => {
    const { use, sandbox } = await workspace();
    const { status, text } = await use("bash", { command: "echo partial; sleep 10", timeout_seconds: 1 });
    expect(status).toBe("partial");
    expect(text).toMatch(/^TIMEOUT: ended after 1 s with all its processes\. .*\npartial$/);
    expect(await sandbox.killAll()).toMatchObject({ commands: 0, processes: 0, survivors: 0 });
  });

  test("by a stop keeps its output and says who stopped it", async () => {
    const turn = new AbortController();
    const stop: TurnAbort = { kind: "stop", order: { by: "Ann", at: 0 } };
    const { dispatcher } = await workspace({ output: () => turn.abort(stop) });
    const { message } = await dispatcher.dispatch(
      callOf("bash", { command: "echo begun; sleep 60" }),
      turn.signal,
    );
    expect(message.status).toBe("stopped");
    expect(message.text).toMatch(/^stopped by Ann\n.*\nbegun$/);
  });
});

describe("the command's limits", () => {
  const empty = Buffer.alloc(0);
  /** A stand-in for a back end: the ends that cannot be brought about in a moment, and what was asked for. */
  function backendThat(result: Partial<ExecResult>, requests: ExecRequest[] = []) {
    const exec = async (request: ExecRequest): Promise<ExecResult> => {
      requests.push(request);
      return {
        end: "exit",
        exitCode: 0,
        stdout: empty,
        stderr: empty,
        droppedBytes: 0,
        durationMs: 1,
        ...result,
      };
    };
    // Only exec is used by what is tested here.
    const sandbox = { exec } as Sandbox;
    return dispatcherOf({ tools: [bash], services: { sandbox, notes: memoryNotes(), now: Date.now } });
  }

  test.each([
    // Without one the operator's limit holds, 120 s unless configured.
    [undefined, undefined],
    [0, undefined],
    [-5, undefined],
    [30, 30_000],
    [1_000, 600_000],
  ])("a time-out of %s s is %s ms", async (timeout_seconds, timeoutMs) => {
    const requests: ExecRequest[] = [];
    await run(backendThat({}, requests), "bash", { command: "true", timeout_seconds });
    expect(requests[0]?.timeoutMs).toBe(timeoutMs);
  });

  test.each([
    ["memory", "more memory"],
    ["output", "far too much output"],
    ["disk", "disk space"],
  ] as const)("an end for %s is explained and partial", async (end, words) => {
    const dispatcher = backendThat({ end, exitCode: null, stdout: Buffer.from("so far\n") });
    const { status, text } = await run(dispatcher, "bash", { command: "true" });
    expect(status).toBe("partial");
    expect(text).toContain(words);
    expect(text).toContain("so far");
  });

  test("a broken sandbox is an error, and after three of them the tool rests", async () => {
    const dispatcher = backendThat({
      end: "failed",
      exitCode: null,
      problem: "bwrap is gone; reinstall it.",
    });
    for (let call = 0; call < 3; call++) {
      expect(await run(dispatcher, "bash", { command: "true" })).toMatchObject({
        status: "error",
        text: "bwrap is gone; reinstall it.\n(no output)",
      });
    }
    expect((await run(dispatcher, "bash", { command: "true" })).text).toMatch(/^CIRCUIT_OPEN/);
  });

  test("output that was not kept is counted", async () => {
    const { text } = await run(backendThat({ droppedBytes: 7 }), "bash", { command: "true" });
    expect(text).toContain("[7 bytes of output were not kept]");
  });
});

test("without a sandbox it refuses", async () => {
  const dispatcher = dispatcherOf({ tools: [bash] });
  expect(await run(dispatcher, "bash", { command: "true" })).toMatchObject({
    status: "error",
    text: "bash needs a sandbox, and this host has none; ask the operator.",
  });
});
