import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { listProcessesNaming } from "../../../src/sandbox/thread/processes.ts";
import {
  listTools,
  never,
  poolOf,
  processGone,
  run,
  sharedFolder,
  stdioFixture,
  toolNamed,
  useSandboxes,
} from "./harness.ts";
import { repository } from "./repository.ts";

useSandboxes();

describe("tools of a server process", () => {
  test("are listed under the server's name with the server's schema, and run", async () => {
    const pool = await poolOf({ shop: stdioFixture() });
    const echo = await toolNamed(pool, "shop__echo");
    expect(echo).toMatchObject({
      description: "Says it again",
      schema: { type: "object", properties: { say: { type: "string" } } },
      effect: "external",
    });
    expect(await run(echo, { say: "hello" })).toEqual({ status: "ok", text: "hello" });
    expect(pool.status()).toEqual([
      { server: "shop", state: "ready", tools: expect.objectContaining({ length: 9 }) },
    ]);
  });

  test("count as reading only when the operator trusts the server", async () => {
    const trusted = { ...stdioFixture(), trust: true };
    const tools = await listTools(await poolOf({ trusted, other: stdioFixture() }));
    const effects = new Map(tools.map((tool) => [tool.name, tool.effect]));
    expect(effects.get("trusted__steps")).toBe("read");
    expect(effects.get("trusted__echo")).toBe("external");
    expect(effects.get("other__steps")).toBe("external");
  });

  test("are gathered from all pages of the list", async () => {
    expect(await listTools(await poolOf({ shop: stdioFixture({ pageSize: 3 }) }))).toHaveLength(9);
  });

  test("with one name on two servers stay apart", async () => {
    const pool = await poolOf({ one: stdioFixture(), two: stdioFixture() });
    const names = (await listTools(pool)).map((tool) => tool.name);
    expect(names).toContain("one__echo");
    expect(names).toContain("two__echo");
    expect(new Set(names).size).toBe(names.length);
  });

  test("that cannot be offered are left out, with the reason in the status", async () => {
    const more = [
      { name: "echo", inputSchema: { type: "object" } },
      { name: "odd", inputSchema: { type: "object", properties: { "späte Zeit": {} } } },
      { name: "string-input", inputSchema: { type: "string" } },
      { name: "choice", inputSchema: { type: "object", anyOf: [{ required: ["a"] }] } },
    ];
    const pool = await poolOf({ shop: stdioFixture({ more }) });
    const names = (await listTools(pool)).map((tool) => tool.name);
    expect(names).not.toContain("shop__odd");
    expect(names).not.toContain("shop__string-input");
    expect((await toolNamed(pool, "shop__choice")).schema).toEqual({ type: "object", properties: {} });
    expect(pool.status()[0]?.problem).toBe(
      'echo is listed twice; the first one counts. odd has a parameter name that model APIs refuse: "späte Zeit". string-input has no valid definition.',
    );
  });

  test("that appear later are offered to the next turn", async () => {
    const pool = await poolOf({ shop: stdioFixture() });
    await run(await toolNamed(pool, "shop__grow"));
    expect((await listTools(pool)).map((tool) => tool.name)).toContain("shop__grown");
  });

  test("that are announced within a turn join it", async () => {
    const pool = await poolOf({ shop: stdioFixture(), other: stdioFixture() });
    const offer = await pool.offer(never);
    expect(await offer.renew(never)).toBeUndefined();
    await run(await toolNamed(pool, "shop__grow"));
    const renewed = await offer.renew(never);
    const grown = renewed?.tools.find(({ name }) => name === "shop__grown");
    if (!grown) throw new Error("the new tool is not offered");
    expect(await run(grown)).toEqual({ status: "ok", text: "fully grown" });
    expect(offer.tools.map(({ name }) => name)).not.toContain("shop__grown");
    expect(await renewed?.renew(never)).toBeUndefined();
  });

  test("do not change within a turn when a server is lost and comes back with the same", async () => {
    const pool = await poolOf({ shop: stdioFixture() });
    const offer = await pool.offer(never);
    await run(await toolNamed(pool, "shop__crash"));
    expect(pool.status()).toMatchObject([{ state: "lost" }]);
    expect(await offer.renew(never)).toBeUndefined();
    expect(await run(await toolNamed(pool, "shop__echo"), { say: "hello" })).toMatchObject({ text: "hello" });
    expect(await offer.renew(never)).toBeUndefined();
  });

  test("are listed again after a rest, which grows, when the list of a changed server fails", async () => {
    let now = 0;
    const told: string[] = [];
    const pool = await poolOf(
      { shop: stdioFixture({ listFailures: 2 }) },
      { now: () => now, backoff: { baseMs: 1_000, capMs: 60_000 }, log: ({ message }) => told.push(message) },
    );
    const names = async () => (await listTools(pool)).map((tool) => tool.name);
    await run(await toolNamed(pool, "shop__grow"));
    const failed = expect.stringMatching(/^its changed tools could not be listed: .*being printed/);
    expect(await names()).not.toContain("shop__grown");
    expect(pool.status()).toMatchObject([{ state: "ready", problem: failed }]);
    for (const [rest, next] of [
      [1_000, failed],
      [2_000, "listed again, 10 tools"],
    ] as const) {
      const before = told.length;
      now += rest - 1;
      await names();
      expect(told).toHaveLength(before);
      now += 1;
      await names();
      await expect.poll(() => told.slice(before)).toEqual([next]);
    }
    expect(await names()).toContain("shop__grown");
    expect(pool.status()).toEqual([expect.not.objectContaining({ problem: expect.anything() })]);
  });

  test("report their progress while they run", async () => {
    const pool = await poolOf({ shop: stdioFixture() });
    const chunks: string[] = [];
    const steps = await toolNamed(pool, "shop__steps");
    expect(await run(steps, {}, { output: (chunk) => chunks.push(chunk) })).toMatchObject({ text: "done" });
    expect(chunks).toEqual(["1/2 boxes\n", "2/2 boxes\n"]);
  });
});

describe("what a server offers besides tools", () => {
  const uri = "note://42";

  test("a linked resource can be read where a server has resources, and only there", async () => {
    const pool = await poolOf({
      shop: stdioFixture({ resources: { [uri]: "forty-two" } }),
      other: stdioFixture(),
    });
    const reader = await toolNamed(pool, "shop__read_resource");
    expect(reader.effect).toBe("external");
    expect(await run(reader, { uri })).toEqual({ status: "ok", text: `[resource ${uri}]\nforty-two` });
    expect(await run(reader, { uri: "note://43" })).toMatchObject({
      status: "error",
      text: expect.stringMatching(/shop refused the call: .*no resource note:\/\/43/),
    });
    expect((await listTools(pool)).map(({ name }) => name)).not.toContain("other__read_resource");
  });

  test("a tool of its own for resources keeps its name", async () => {
    const more = [{ name: "read_resource", inputSchema: { type: "object" } }];
    const pool = await poolOf({ shop: stdioFixture({ resources: {}, more }) });
    const named = (await listTools(pool)).filter(({ name }) => name === "shop__read_resource");
    expect(named).toMatchObject([{ schema: { type: "object", properties: {} } }]);
  });

  test("its instructions come with the names of its tools, bounded, without secrets and hidden characters", async () => {
    const instructions = `Use ids.\u200b The token is swordfish-1234. ${"x".repeat(3_000)}`;
    const env = { SHOP_TOKEN: "swordfish-1234" };
    const pool = await poolOf({ shop: stdioFixture({ instructions }, env), other: stdioFixture() });
    const [said, ...others] = (await pool.offer(never)).instructions;
    expect(others).toEqual([]);
    expect(said).toMatchObject({ server: "shop", tools: expect.arrayContaining(["shop__echo"]) });
    expect(said?.text).toMatch(/^Use ids\. The token is [^s]/);
    expect(said?.text).not.toContain("swordfish");
    expect(said?.text.length).toBeLessThanOrEqual(2_000);
  });
});

describe("calls that fail", () => {
  test("an error of the tool comes with the server's text", async () => {
    const pool = await poolOf({ shop: stdioFixture() });
    const result = await run(await toolNamed(pool, "shop__fail"));
    expect(result).toEqual({ status: "error", text: "the printer is on fire" });
  });

  test("an error of the protocol comes with the server's text too", async () => {
    const more = [{ name: "ghost", inputSchema: { type: "object" } }];
    const result = await run(await toolNamed(await poolOf({ shop: stdioFixture({ more }) }), "shop__ghost"));
    expect(result.status).toBe("error");
    expect(result.text).toMatch(/^The MCP server shop refused the call: .*no tool ghost/);
  });

  test("a call over its time names the seconds, is cancelled, and the connection works on", async () => {
    const pool = await poolOf({ shop: { ...stdioFixture(), execute_timeout: 0.3 } });
    const result = await run(await toolNamed(pool, "shop__hang"));
    expect(result).toMatchObject({ status: "error", outage: true });
    expect(result.text).toContain("did not answer within 0.3 s");
    // On a busy machine this may be over its time, too.
    const journal = async () => (await run(await toolNamed(pool, "shop__journal"))).text;
    await expect.poll(journal).toBe("started cancelled");
  });

  test("a server that is frozen is ended after a call over its time, and the next call starts it anew", async () => {
    const entry = { ...stdioFixture(), sandbox: false, execute_timeout: 2, connect_timeout: 3 };
    const logged: string[] = [];
    const pool = await poolOf({ shop: entry }, { log: ({ message }) => logged.push(message) });
    const pid = await toolNamed(pool, "shop__pid");
    const first = (await run(pid)).text;
    process.kill(Number(first), "SIGSTOP");
    expect((await run(pid)).text).toContain("did not answer within 2 s");
    const problem = "after a call over its time it answered nothing for 3 s";
    await expect.poll(() => logged.join(), { timeout: 10_000 }).toContain(problem);
    const second = await run(pid);
    expect(second.status).toBe("ok");
    expect(second.text).not.toBe(first);
  });

  test("a stop cancels the call on the server at once", async () => {
    const pool = await poolOf({ shop: stdioFixture() });
    const hang = await toolNamed(pool, "shop__hang");
    const stop = new AbortController();
    const call = run(hang, {}, { signal: stop.signal });
    await run(await toolNamed(pool, "shop__journal"));
    stop.abort();
    expect(await call).toMatchObject({ status: "stopped" });
    expect(await run(await toolNamed(pool, "shop__journal"))).toMatchObject({ text: "started cancelled" });
  });

  test("a stop before the call keeps it from being made", async () => {
    const pool = await poolOf({ shop: stdioFixture() });
    const hang = await toolNamed(pool, "shop__hang");
    expect(await run(hang, {}, { signal: AbortSignal.abort() })).toMatchObject({ status: "stopped" });
    expect(await run(await toolNamed(pool, "shop__journal"))).toMatchObject({ text: "(no output)" });
  });

  test("a server that dies during a call leaves its outcome open and says its last words", async () => {
    const pool = await poolOf({ shop: stdioFixture() });
    const result = await run(await toolNamed(pool, "shop__crash"));
    expect(result).toMatchObject({ status: "unknown", outage: true });
    expect(result.text).toMatch(/exited with code 9; it wrote: .*Segmentation fault \(pretended\)/);
    expect(pool.status()).toMatchObject([
      {
        state: "lost",
        tools: expect.objectContaining({ length: 9 }),
        problem: expect.stringMatching(/code 9/),
      },
    ]);
  });

  test("a call that may be repeated is made once more on a new connection", async () => {
    const folder = sharedFolder();
    const sandbox = { read: [repository], write: [folder] };
    const pool = await poolOf({ shop: { ...stdioFixture({}, { MARK: join(folder, "mark") }), sandbox } });
    const result = await run(await toolNamed(pool, "shop__crash-once"));
    expect(result).toEqual({ status: "ok", text: "second time lucky" });
  });

  test("the next call after a crash finds a new server", async () => {
    const pool = await poolOf({ shop: stdioFixture() });
    const echo = await toolNamed(pool, "shop__echo");
    await run(await toolNamed(pool, "shop__crash"));
    expect(await run(echo, { say: "back" })).toEqual({ status: "ok", text: "back" });
  });
});

describe("servers that do not start", () => {
  const broken = {
    silent: { ...stdioFixture({ start: "silent" }), connect_timeout: 0.5 },
    crashing: stdioFixture({ start: "crash" }, { DB_PASSWORD: "hunter2hunter2" }),
    missing: { command: "/nowhere/mcp-server" },
    scriptless: { command: "node", args: ["/nowhere/mcp-server.js"] },
    unset: { command: "x", env: { KEY: "${HEDDLE_NO_SUCH_VARIABLE}" } },
    off: { command: "x", disabled: true },
  };

  test("are tried again after their rest, also where the clock was set back meanwhile", async () => {
    const told: string[] = [];
    const pool = await poolOf(
      { missing: broken.missing },
      { backoff: { baseMs: 60_000, capMs: 60_000 }, log: ({ message }) => told.push(message) },
    );
    await listTools(pool);
    expect(told).toHaveLength(1);
    const [date, passed] = [Date.now(), performance.now()];
    onTestFinished(() => void vi.restoreAllMocks());
    vi.spyOn(Date, "now").mockReturnValue(date - 3_600_000);
    vi.spyOn(performance, "now").mockReturnValue(passed + 61_000);
    await listTools(pool);
    vi.restoreAllMocks();
    await expect.poll(() => told).toHaveLength(2);
  });

  test("cost their own tools only, and the status says why, without secrets", async () => {
    const pool = await poolOf({ ...broken, shop: stdioFixture() });
    expect((await listTools(pool)).every((tool) => tool.name.startsWith("shop__"))).toBe(true);
    const [silent, crashing, missing, scriptless, unset, off, shop] = pool.status();
    expect(silent).toMatchObject({
      state: "failed",
      tools: [],
      problem: expect.stringMatching(/no answer within 0.5 s/),
    });
    expect(crashing).toMatchObject({
      state: "failed",
      problem: expect.stringMatching(/exited with code 3; it wrote: config error/),
    });
    expect(crashing?.problem).not.toContain("hunter2");
    expect(missing).toMatchObject({
      state: "failed",
      problem: expect.stringMatching(/its command \/nowhere\/mcp-server does not exist/),
    });
    expect(scriptless).toMatchObject({
      state: "failed",
      problem: "its process exited with code 1; it wrote: Error: Cannot find module '/nowhere/mcp-server.js'",
    });
    expect(unset).toMatchObject({
      state: "invalid",
      problem: expect.stringMatching(/HEDDLE_NO_SUCH_VARIABLE/),
    });
    expect(off).toEqual({ server: "off", state: "disabled", tools: [] });
    expect(shop).toMatchObject({ state: "ready", tools: expect.objectContaining({ length: 9 }) });
  });

  test("are tried again only after a rest, which grows, and then without delaying the turn", async () => {
    const folder = sharedFolder();
    const mark = join(folder, "mark");
    let now = 0;
    const attempts: string[] = [];
    const pool = await poolOf(
      // The first attempt fails at once, each later one when it is let go.
      {
        flaky: {
          command: "/bin/sh",
          sandbox: { write: [folder] },
          args: [
            "-c",
            `[ -s ${mark} ] && until [ -e ${mark}.go ]; do sleep 0.02; done; echo x >> ${mark}; exit 1`,
          ],
        },
      },
      {
        now: () => now,
        backoff: { baseMs: 1_000, capMs: 60_000 },
        log: (entry) => attempts.push(entry.message),
      },
    );
    await listTools(pool);
    expect(attempts).toHaveLength(1);
    now = 999;
    await listTools(pool);
    expect(attempts).toHaveLength(1);
    now = 1_000;
    await listTools(pool);
    expect(pool.status()).toMatchObject([{ state: "connecting", problem: "its process exited with code 1" }]);
    writeFileSync(`${mark}.go`, "");
    await expect.poll(() => attempts.length).toBe(2);
    now = 2_999;
    await listTools(pool);
    expect(pool.status()).toMatchObject([{ state: "failed", problem: "its process exited with code 1" }]);
  });

  test("a slow server does not hold the turn longer than its patience", async () => {
    const pool = await poolOf(
      { slow: stdioFixture({ start: "silent" }), shop: { command: "/nowhere/x" } },
      { patienceMs: 100 },
    );
    expect(await listTools(pool)).toEqual([]);
    await expect.poll(() => pool.status()).toMatchObject([{ state: "connecting" }, { state: "failed" }]);
  });

  test("a stop ends the wait for a server", async () => {
    const pool = await poolOf({ slow: stdioFixture({ start: "silent" }) });
    expect(await pool.offer(AbortSignal.timeout(50))).toMatchObject({ tools: [], instructions: [] });
  });
});

describe("the processes", () => {
  test.each([["in a sandbox"], ["without one"]])(
    "see the configured environment and nothing else of ours, %s",
    async (how) => {
      process.env["HEDDLE_TEST_SECRET"] = "only ours";
      onTestFinished(() => void delete process.env["HEDDLE_TEST_SECRET"]);
      const args = ["-c", "env | cut -d= -f1 | grep -vi _proxy | sort | tr '\\n' ' ' >&2"];
      const sandbox = how === "without one" ? { sandbox: false } : {};
      const pool = await poolOf({ env: { command: "/bin/sh", args, env: { GIVEN: "1" }, ...sandbox } });
      await listTools(pool);
      const names = (pool.status()[0]?.problem ?? "").replace(/.*it wrote: /, "").split(" ");
      const common = ["GIVEN", "HOME", "OLDPWD", "PATH", "PWD", "SHELL", "SHLVL", "TERM", "_"];
      const own = how === "without one" ? ["LOGNAME", "USER"] : ["EMAIL", "LC_CTYPE"];
      expect(names).toContain("GIVEN");
      expect(names.filter((name) => ![...common, ...own].includes(name))).toEqual([]);
    },
  );

  test.each([["in a sandbox"], ["without one"]])(
    "are gone after close, with those behind a shell, in a sandbox also those in sessions of their own, even when they ignore SIGTERM, %s",
    async (how) => {
      const { args, env, ...entry } = stdioFixture({ stubborn: true });
      const word = `mark-${Math.random().toString(36).slice(2)}`;
      // The second command keeps the shell from becoming the server itself.
      const apart = how === "without one" ? "" : `setsid sh -c 'sleep 600; : ${word}' & `;
      const script = `${apart}"$0" "$@"; : ${word}`;
      const program = how === "without one" ? process.execPath : "node";
      const sandbox = how === "without one" ? { sandbox: false } : {};
      const shell = {
        ...entry,
        command: "/bin/sh",
        args: ["-c", script, program, ...args, word],
        env,
        ...sandbox,
      };
      const pool = await poolOf({ shell });
      await run(await toolNamed(pool, "shell__pid"));
      const processes = listProcessesNaming(word);
      expect(processes.length).toBeGreaterThan(how === "without one" ? 1 : 2);
      await pool.close();
      for (const { pid } of processes) await processGone(pid);
    },
  );

  test("that nobody has needed are not started, and a closed pool starts none", async () => {
    const pool = await poolOf({ shop: stdioFixture() });
    expect(pool.status()).toEqual([{ server: "shop", state: "idle", tools: [] }]);
    await pool.close();
    expect(await listTools(pool)).toEqual([]);
    expect(pool.status()).toMatchObject([{ state: "closed" }]);
  });
});
