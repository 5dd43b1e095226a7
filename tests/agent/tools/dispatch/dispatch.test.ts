import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { TurnAbort } from "../../../../src/agent/events.ts";
import { createMasker } from "../../../../src/agent/secrets/mask-secrets.ts";
import { createSessionTools } from "../../../../src/agent/tools/built-in.ts";
import { createCircuitBreaker } from "../../../../src/agent/tools/dispatch/circuit-breaker.ts";
import {
  defineTool,
  type Tool,
  type ToolContext,
  type ToolResult,
} from "../../../../src/agent/tools/tool.ts";
import { callOf, dispatcherOf, run } from "../services.ts";

function tool(
  name: string,
  body: (context: ToolContext) => Promise<ToolResult>,
  more: Partial<Tool> = {},
): Tool {
  return {
    ...defineTool({
      name,
      description: name,
      input: z.looseObject({}),
      effect: "write",
      run: (_, c) => body(c),
    }),
    ...more,
  };
}

const ok = async (): Promise<ToolResult> => ({ status: "ok", text: "done" });
const stop: TurnAbort = { kind: "stop", order: { by: "Ann", at: 0 } };
const aborted = (signal: AbortSignal) => new Promise((resolve) => signal.addEventListener("abort", resolve));

const add = defineTool({
  name: "add",
  description: "Adds numbers",
  input: z.object({
    a: z.number().int(),
    b: z.number().int().default(1),
    unit: z.enum(["m", "ft"]).optional(),
  }),
  effect: "read",
  run: async ({ a, b }) => ({ status: "ok", text: String(a + b) }),
});

describe("what the model is told about tools", () => {
  test("is the schema of the input: defaults are optional, no $schema, no integer bounds", () => {
    expect(dispatcherOf({ tools: [add] }).definitions).toEqual([
      {
        name: "add",
        description: "Adds numbers",
        schema: {
          type: "object",
          properties: {
            a: { type: "integer" },
            b: { type: "integer", default: 1 },
            unit: { type: "string", enum: ["m", "ft"] },
          },
          required: ["a"],
        },
      },
    ]);
  });

  test("has no pattern that only spells out a format", () => {
    const at = defineTool({
      ...{ name: "at", description: "at", effect: "read", run: ok },
      input: z.object({ at: z.iso.datetime({ offset: true }), name: z.string().regex(/^a/) }),
    });
    expect(dispatcherOf({ tools: [at] }).definitions[0]?.schema).toMatchObject({
      properties: { at: { type: "string", format: "date-time" }, name: { pattern: "^a" } },
    });
    expect(JSON.stringify(dispatcherOf({ tools: [at] }).definitions)).not.toContain("02-29");
  });

  test("is the tool's own schema where it has one", () => {
    const schema = { type: "object", properties: { q: { type: "string" } } };
    const [definition] = dispatcherOf({ tools: [tool("mcp__search", ok, { schema })] }).definitions;
    expect(definition?.schema).toEqual(schema);
  });

  test.each(["", "with space", "a/b", "x".repeat(65)])("refuses the name %j", (name) => {
    expect(() => dispatcherOf({ tools: [tool(name, ok)] })).toThrow("cannot be a tool's name");
  });

  test("refuses two tools of one name", () => {
    expect(() => dispatcherOf({ tools: [tool("a", ok), tool("a", ok)] })).toThrow('Two tools are named "a"');
  });

  test("refuses an input that is not an object", () => {
    expect(() => dispatcherOf({ tools: [tool("a", ok, { input: z.string() })] })).toThrow(
      "must be an object",
    );
  });
});

describe("what the schema of an MCP server's tool does not list", () => {
  const properties = { q: { type: "string" }, where: { type: "object", properties: { id: {} } } };
  const search = (more: object) =>
    dispatcherOf({
      tools: [
        tool("mcp__search", ok, {
          input: z.record(z.string(), z.unknown()),
          schema: { type: "object", properties, ...more },
        }),
      ],
    });
  const input = { q: "a", where: { name: "b" }, limit: 3 };

  test.each<[string, object]>([
    ["nothing else", {}],
    ["that there may be more", { additionalProperties: true }],
    ["of which type they are", { additionalProperties: { type: "number" } }],
    ["a pattern of their names", { additionalProperties: false, patternProperties: { "^l": {} } }],
  ])("goes to the server where it says %s", async (_, more) => {
    expect(await run(search(more), "mcp__search", input)).toMatchObject({ status: "ok" });
  });

  test("is refused where it says that there is nothing else", async () => {
    expect(await run(search({ additionalProperties: false }), "mcp__search", input)).toMatchObject({
      status: "error",
      text: "INVALID_PARAM: mcp__search was not run. limit: unknown argument (known ones: q, where).",
    });
  });
});

describe("a call that cannot be run", () => {
  const dispatcher = dispatcherOf({ tools: [add, tool("other", ok)] });

  test("of an unknown tool names the valid ones", async () => {
    const message = await run(dispatcher, "nope", {});
    expect(message).toMatchObject({ status: "error", name: "nope" });
    expect(message.text).toBe('Unknown tool "nope". Valid tools: add, other.');
  });

  test("with arguments that are not JSON says so", async () => {
    const call = { ...callOf("add", {}), malformed: '{"a": ' };
    const { message } = await dispatcher.dispatch(call, new AbortController().signal);
    expect(message.status).toBe("error");
    expect(message.text).toMatch(/^invalid JSON arguments for add: .+ Send one JSON object\.$/);
  });

  test("whose arguments are nested too deep is not run, and told so", async () => {
    const malformed = `{"a":${"[".repeat(5_000)}${"]".repeat(5_000)}}`;
    const call = { ...callOf("add", {}), malformed };
    const { message } = await dispatcher.dispatch(call, new AbortController().signal);
    expect(message.text).toContain("nested more than 100 levels deep. Send one JSON object.");
  });

  test("with wrong arguments names the fields, in one line", async () => {
    const { status, text } = await run(dispatcher, "add", { a: "one", unit: "mile" });
    expect(status).toBe("error");
    expect(text).toMatch(/^INVALID_PARAM: add was not run\. a: .*; unit: .*$/);
  });

  test("without a required argument says that it is missing, and what it should be", async () => {
    expect((await run(dispatcher, "add", { unit: "m" })).text).toBe(
      "INVALID_PARAM: add was not run. a: is missing (number).",
    );
  });

  test("with arguments that the tool does not have names them, and those that it has", async () => {
    expect((await run(dispatcher, "add", { a: 1, round: true })).text).toBe(
      "INVALID_PARAM: add was not run. round: unknown argument (known ones: a, b, unit).",
    );
    const { text } = await run(dispatcher, "add", { number: 1, unit: "m" });
    expect(text).toMatch(/^INVALID_PARAM: add .*number: unknown argument \(known ones: a, b, unit\); a: /);
  });

  test("with such an argument further inside says where, also where the list came as text", async () => {
    const plan = dispatcherOf({ tools: createSessionTools() });
    const items = [{ content: "look", status: "pending", priority: "high" }];
    for (const sent of [items, JSON.stringify(items)]) {
      expect((await run(plan, "todo", { items: sent })).text).toBe(
        "INVALID_PARAM: todo was not run. items.0.priority: unknown argument (known ones: content, status).",
      );
    }
  });

  test("because a policy denies it says why", async () => {
    const denying = dispatcherOf({
      tools: [add],
      policy: ({ name }) => ({ action: "deny", why: `${name} is not for you.` }),
    });
    expect(await run(denying, "add", { a: 1 })).toMatchObject({
      ...{ status: "error", notRun: "denied" },
      text: "DENIED: add was not run: add is not for you.",
    });
  });

  test("because it must be approved runs only with its approval", async () => {
    const asking = dispatcherOf({ tools: [add], policy: () => ({ action: "ask", why: "It adds." }) });
    expect(asking.findAsking(callOf("add", { a: 1 }))).toEqual({ kind: "approval", why: "It adds." });
    expect(asking.findAsking(callOf("add", { a: "one" }))).toBeUndefined();
    expect((await run(asking, "add", { a: 1 })).text).toMatch(/^DENIED: .* nobody can be asked here/);
    const decision = { kind: "approved", by: { id: "U1", name: "Ada" }, at: 1 } as const;
    const { message } = await asking.dispatch(callOf("add", { a: 1 }), new AbortController().signal, {
      decision,
    });
    expect(message.status).toBe("ok");
  });
});

describe("a call that rules ask about", () => {
  const rules = [{ id: "r1", text: "add*" }];
  const signal = new AbortController().signal;
  const ruled = (given: Partial<Parameters<typeof dispatcherOf>[0]>) =>
    dispatcherOf({ tools: [add], policy: () => ({ action: "ask", why: "It adds.", rules }), ...given });

  test("is not asked about once people have approved all of them for the thread, and is once that is taken back", async () => {
    const asked: string[][] = [];
    let approved = true;
    const calls = ruled({
      areApproved: async (ids) => {
        asked.push([...ids]);
        return approved;
      },
    });
    const call = callOf("add", { a: 1 });
    await calls.reviewCalls([call], signal);
    expect(calls.findAsking(call)).toBeUndefined();
    expect((await calls.dispatch(call, signal)).message.status).toBe("ok");
    approved = false;
    expect((await calls.dispatch(call, signal)).message.text).toMatch(/^DENIED/);
    await calls.reviewCalls([call], signal);
    expect(calls.findAsking(call)).toEqual({ kind: "approval", why: "It adds.", rules });
    expect(new Set(asked.flat())).toEqual(new Set(["r1"]));
  });

  test("is asked about where it cannot be known what is approved", async () => {
    const calls = ruled({ areApproved: () => Promise.reject(new Error("Redis is gone.")) });
    const call = callOf("add", { a: 1 });
    await calls.reviewCalls([call], signal);
    expect(calls.findAsking(call)).toMatchObject({ kind: "approval" });
    expect((await calls.dispatch(call, signal)).message.text).toMatch(/^DENIED/);
  });

  test("can be approved only by itself where its tool asks, too", async () => {
    const reviewed = {
      ...add,
      review: async () => ({ action: "ask" as const, why: "It is big." }),
    };
    const calls = ruled({ tools: [reviewed], areApproved: async () => false });
    const call = callOf("add", { a: 1 });
    await calls.reviewCalls([call], signal);
    expect(calls.findAsking(call)).toEqual({ kind: "approval", why: "It adds." });
  });

  test("is denied where one of its commands is, whatever is approved", async () => {
    const calls = dispatcherOf({
      tools: [add],
      policy: () => ({ action: "deny", why: "Never." }),
      areApproved: async () => true,
    });
    expect((await run(calls, "add", { a: 1 })).text).toMatch(/^DENIED/);
  });
});

describe("a tool that looks at a call before it runs", () => {
  const silent = { ...add, review: () => new Promise<never>(() => undefined) };

  test("holds up no stop, however silent it is", async () => {
    const turn = new AbortController();
    const calls = dispatcherOf({ tools: [silent] });
    const call = callOf("add", { a: 1 });
    const reviewing = calls.reviewCalls([call, call], turn.signal);
    turn.abort({ kind: "stop", order: { by: "Ada", at: 1 } });
    await reviewing;
    expect(calls.findAsking(call)).toBeUndefined();
    expect((await calls.dispatch(call, turn.signal)).message.status).toBe("stopped");
  });

  test("denies a call that it could not look at", async () => {
    const traces: string[] = [];
    const broken = { ...add, review: () => Promise.reject(new Error("secret detail")) };
    const calls = dispatcherOf({ tools: [broken], onError: (trace) => traces.push(trace) });
    expect((await run(calls, "add", { a: 1 })).text).toBe(
      `DENIED: add was not run: looking at the call failed unexpectedly (trace ${traces[0]}).`,
    );
  });
});

describe("a tool that fails", () => {
  test("by throwing gives one line with a trace id, and no stack", async () => {
    const traces: string[] = [];
    const failing = dispatcherOf({
      tools: [tool("broken", () => Promise.reject(new Error("secret detail")))],
      onError: (trace) => traces.push(trace),
    });
    const { status, text } = await run(failing, "broken", {});
    expect(status).toBe("error");
    expect(text).toBe(
      `broken failed unexpectedly (trace ${traces[0]}). Try another way; an operator can look it up.`,
    );
  });

  test("twice at one moment has two traces", async () => {
    const traces: string[] = [];
    const failing = dispatcherOf({
      tools: [tool("broken", () => Promise.reject(new Error("no")))],
      onError: (trace) => traces.push(trace),
    });
    await Promise.all([run(failing, "broken", {}), run(failing, "broken", {})]);
    expect(new Set(traces).size).toBe(2);
  });

  test("three times rests, is probed after its rest, and is back when the probe works", async () => {
    let now = 0;
    let runs = 0;
    let works = false;
    const flaky = tool("flaky", async () => {
      runs += 1;
      return works ? { status: "ok", text: "up" } : { status: "error", text: "unreachable", outage: true };
    });
    const dispatcher = dispatcherOf({ tools: [flaky], breaker: createCircuitBreaker({ now: () => now }) });
    for (let call = 0; call < 3; call++) await run(dispatcher, "flaky", {});
    const refused = await run(dispatcher, "flaky", {});
    expect(refused.text).toMatch(
      /^CIRCUIT_OPEN: flaky was not run: it failed 3 times in a row\. .* 300 s\.$/,
    );
    expect(runs).toBe(3);

    now = 300_000;
    expect((await run(dispatcher, "flaky", {})).text).toBe("unreachable");
    expect((await run(dispatcher, "flaky", {})).text).toMatch(/^CIRCUIT_OPEN/);

    now = 600_000;
    works = true;
    expect((await run(dispatcher, "flaky", {})).text).toBe("up");
    expect((await run(dispatcher, "flaky", {})).text).toBe("up");
  });

  test("for its arguments never rests", async () => {
    const dispatcher = dispatcherOf({
      tools: [tool("picky", async () => ({ status: "error", text: "wrong path" }))],
    });
    for (let call = 0; call < 5; call++) expect((await run(dispatcher, "picky", {})).text).toBe("wrong path");
  });
});

describe("a circuit breaker", () => {
  test("lets one probe through at a time", () => {
    let now = 0;
    const breaker = createCircuitBreaker({ now: () => now, failures: 1, restMs: 10 });
    const first = breaker.enter("t");
    if (first.ok) first.pass.settle("failed");
    now = 10;
    const probe = breaker.enter("t");
    expect([probe.ok, breaker.enter("t").ok]).toEqual([true, false]);
    if (probe.ok) probe.pass.settle("undecided");
    expect(breaker.enter("t").ok).toBe(true);
  });

  test("remembers only those that have failed last, however many there are", () => {
    const breaker = createCircuitBreaker({ now: () => 0, failures: 2, most: 2 });
    const fail = (name: string) => {
      const entered = breaker.enter(name);
      if (entered.ok) entered.pass.settle("failed");
    };
    for (const name of ["a", "b", "a", "c", "b"]) fail(name);
    expect(["a", "b", "c"].map((name) => breaker.enter(name).ok)).toEqual([true, true, true]);
    fail("c");
    expect(["a", "b", "c"].map((name) => breaker.enter(name).ok)).toEqual([true, true, false]);
  });
});

describe("a tool that runs too long", () => {
  test("is aborted, and what it says then is a partial result", async () => {
    const slow = tool(
      "slow",
      async ({ signal }) => {
        await aborted(signal);
        return { status: "error", text: "half of it" };
      },
      { timeoutMs: 20 },
    );
    expect(await run(dispatcherOf({ tools: [slow] }), "slow", {})).toMatchObject({
      status: "partial",
      text: "TIMEOUT: slow was ended after 0.02 s; what it had begun may be half done.\nhalf of it",
    });
  });

  test("and does not listen is given up after a grace", async () => {
    const deaf = tool("deaf", () => new Promise(() => {}), { timeoutMs: 10 });
    const { status, text } = await run(dispatcherOf({ tools: [deaf], graceMs: 10 }), "deaf", {});
    expect([status, text.slice(0, 7)]).toEqual(["error", "TIMEOUT"]);
  });
});

describe("a stop", () => {
  test("before the call keeps the tool from running", async () => {
    const { message } = await dispatcherOf({ tools: [add] }).dispatch(
      callOf("add", { a: 1 }),
      AbortSignal.abort(stop),
    );
    expect(message).toMatchObject({ status: "stopped", text: "stopped by Ann before it ran" });
  });

  async function stopDuring(body: (context: ToolContext) => Promise<ToolResult>, graceMs = 1_000) {
    const turn = new AbortController();
    const stopped = tool("work", (context) => {
      turn.abort(stop);
      return body(context);
    });
    const dispatcher = dispatcherOf({ tools: [stopped], graceMs });
    return (await dispatcher.dispatch(callOf("work", {}), turn.signal)).message;
  }

  test("during the call says who stopped it and what was done until then", async () => {
    const message = await stopDuring(async () => ({ status: "stopped", text: "3 of 9 files" }));
    expect(message).toMatchObject({ status: "stopped", text: "stopped by Ann\n3 of 9 files" });
  });

  test("leaves the result of a tool that was done", async () => {
    expect(await stopDuring(ok)).toMatchObject({ status: "ok", text: "done" });
  });

  test("covers a tool that throws because of it", async () => {
    const message = await stopDuring(async ({ signal }) => {
      signal.throwIfAborted();
      return ok();
    });
    expect(message).toMatchObject({ status: "stopped", text: "stopped by Ann" });
  });

  test("does not wait for a tool that does not listen", async () => {
    const message = await stopDuring(() => new Promise(() => {}), 10);
    expect(message).toMatchObject({
      status: "stopped",
      text: "stopped by Ann before it could say what it had done",
    });
  });

  test("of the worker leaves the outcome unknown", async () => {
    const turn = new AbortController();
    const shut = tool("work", async () => {
      turn.abort({ kind: "shutdown" } satisfies TurnAbort);
      return { status: "stopped", text: "" };
    });
    const { message } = await dispatcherOf({ tools: [shut] }).dispatch(callOf("work", {}), turn.signal);
    expect(message).toMatchObject({ status: "unknown", text: expect.stringContaining("Outcome unknown") });
  });
});

describe("what comes out of a tool", () => {
  const secret = "a-very-secret-value";
  const masker = createMasker([secret]);

  test("is masked, errors included", async () => {
    const leaky = tool("leaky", async () => ({ status: "error", text: `token ${secret}` }));
    expect((await run(dispatcherOf({ tools: [leaky], masker }), "leaky", {})).text).toBe("token [masked]");
  });

  test("is masked before it is cut, so that no half of a secret is left", async () => {
    const text = `${"x".repeat(30)} ${secret} ${"x".repeat(200)}`;
    const leaky = tool("leaky", async () => ({ status: "ok", text }), { limits: { lines: 10, size: 170 } });
    const message = await run(dispatcherOf({ tools: [leaky], masker }), "leaky", {});
    expect(message.text).toContain("[left out");
    expect(message.text).not.toContain("a-very");
  });

  test("is masked live as well, also when a secret comes in pieces", async () => {
    const chunks: string[] = [];
    const live = tool("live", async ({ output }) => {
      output(`key ${secret.slice(0, 9)}`);
      output(`${secret.slice(9)} end\n`);
      return ok();
    });
    await run(dispatcherOf({ tools: [live], masker, output: (_, chunk) => chunks.push(chunk) }), "live", {});
    expect(chunks.join("")).toBe("key [masked] end\n");
  });

  test("brings its images along", async () => {
    const images = [{ mediaType: "image/png" as const, data: "AAAA" }];
    const eye = tool("eye", async () => ({ status: "ok", text: "see", images }));
    expect(await run(dispatcherOf({ tools: [eye] }), "eye", {})).toMatchObject({ images });
  });
});

test("a call changes nothing by its tool's effect, or by its input where the tool says so, or because it is refused", () => {
  const either = defineTool({
    ...{ name: "either", description: "either", effect: "write" },
    input: z.object({ look: z.boolean() }),
    readsOnly: ({ look }) => look,
    run: ok,
  });
  const dispatcher = dispatcherOf({
    tools: [tool("write", ok), tool("read", ok, { effect: "read" }), either],
  });
  const reads = (name: string, input = {}) => dispatcher.readsOnly(callOf(name, input));
  expect([reads("read"), reads("either", { look: true }), reads("either"), reads("nope")]).toEqual([
    ...[true, true, true, true],
  ]);
  expect([reads("write"), reads("either", { look: false })]).toEqual([false, false]);
});
