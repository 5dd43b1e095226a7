import { expect, test } from "vitest";
import { z } from "zod";
import { createContextWindow } from "../../../../src/agent/context/compaction.ts";
import type { JournalRecord } from "../../../../src/agent/journal/journal.ts";
import type { ModelRequest } from "../../../../src/agent/model.ts";
import {
  areFound,
  createDeferredAccess,
  deferTools,
} from "../../../../src/agent/tools/dispatch/deferred-tools.ts";
import { describeTool } from "../../../../src/agent/tools/definition.ts";
import { defineTool, type Tool } from "../../../../src/agent/tools/tool.ts";
import { scriptedModel } from "../../../fakes/scripted-model.ts";
import { dispatcherOf } from "../../tools/services.ts";
import { asking, counter, run, tool } from "../../turn.ts";

await counter.load();

const verbs = ["get", "list", "create", "update", "delete", "search"];
const nouns = [
  "issue",
  "pull_request",
  "branch",
  "commit",
  "release",
  "label",
  "milestone",
  "review",
  "team",
  "wiki",
];
const servers = ["github", "tracker", "crm", "billing", "deploy"];

/** Three hundred tools as servers have them; each says with what it was called. */
const offered = servers.flatMap((server) =>
  nouns.flatMap((noun) =>
    verbs.map((verb) => {
      const name = `${server}__${verb}_${noun}`;
      return defineTool({
        name,
        description: `${verb}s a ${noun.replace("_", " ")} in ${server}. ${"Details of permissions and pagination follow. ".repeat(6)}`,
        input: z.record(z.string(), z.unknown()),
        schema: {
          type: "object",
          properties: { id: { type: "string", description: `The ${noun}'s id` }, page: { type: "integer" } },
          required: ["id"],
        },
        effect: "external",
        run: async (input) => ({ status: "ok", text: `${name} ${JSON.stringify(input)}` }),
      });
    }),
  ),
);

const bash = tool("bash", "write", async () => "ran");

function open(tools: readonly Tool[] = offered, options: Parameters<typeof dispatcherOf>[0] = {}) {
  const { sent, deferred } = deferTools([bash, ...tools], { contextTokens: 200_000 }, counter);
  const access = areFound(deferred, sent) ? createDeferredAccess(deferred, sent) : [];
  return dispatcherOf({ ...options, tools: [...sent, ...access], deferred });
}

const find = (query: string) => ({ calls: [{ name: "find_tools", input: { query } }] });
const call = (name: string, input: unknown = { id: "7" }) => ({
  calls: [{ name: "call_tool", input: { name, arguments: input } }],
});

/** The result of the newest call, as the model reads it. */
const told = ({ messages }: ModelRequest) => messages.findLast((message) => message.role === "tool");

test("Three hundred tools of servers take less than 3,000 tokens of a prompt", () => {
  const { definitions } = open();
  expect(definitions.map(({ name }) => name)).toEqual(["bash", "find_tools", "call_tool"]);
  expect(counter.count(JSON.stringify(definitions))).toBeLessThan(3_000);
  expect(counter.count(JSON.stringify(offered.map(describeTool)))).toBeGreaterThan(25_000);
});

test("A few tools are sent as they are, and so are those of a server that wants it", () => {
  const names = (tools: readonly Tool[]) => open(tools).definitions.map(({ name }) => name);
  expect(names(offered.slice(0, 20))).toEqual(["bash", ...offered.slice(0, 20).map(({ name }) => name)]);
  const eager = offered.map((each) => ({ ...each, always: each.name.startsWith("crm__") }));
  expect(names(eager)).toEqual([
    "bash",
    ...eager.flatMap(({ name, always }) => (always ? [name] : [])),
    "find_tools",
    "call_tool",
  ]);
});

test("A service that takes only so many tools gets no more, however large its window", () => {
  const { sent } = deferTools(offered, { contextTokens: 10_000_000, tools: 128 }, counter);
  expect(sent).toEqual([]);
  expect(deferTools(offered, { contextTokens: 10_000_000 }, counter).deferred).toEqual([]);
});

test("Tools of a person's account are found, and the next person's requests begin with the same words", async () => {
  const connect: Tool = { ...tool("notes__connect_account", "read", async () => "?"), unlocks: "notes" };
  const search: Tool = {
    ...tool("notes__search", "external", async () => "Ada's notes"),
    personal: true,
  };
  const adas = open([connect, search]);
  const bobs = open([connect]);
  expect(adas.definitions.map(({ name }) => name)).toEqual([
    ...["bash", "notes__connect_account", "find_tools", "call_tool"],
  ]);
  expect(bobs.definitions).toEqual(adas.definitions);
  const first = await run({
    dispatcher: adas,
    replies: [find("search notes"), call("notes__search", { text: "x" }), { text: "Found." }],
  });
  const before = first.requests[2];
  if (!before) throw new Error("There are three requests.");
  expect(told(before)).toMatchObject({ name: "call_tool", text: "Ada's notes" });
  const next = await run({
    dispatcher: bobs,
    journal: [...first.journal, ...asking("And mine?", 5)],
    replies: [find("search notes"), call("notes__search", { text: "x" }), { text: "Not mine." }],
  });
  const [again, found, refused] = next.requests;
  expect(again?.messages.slice(0, before.messages.length)).toEqual(before.messages);
  expect(found && told(found)).toMatchObject({
    text: expect.stringContaining("once notes__connect_account has worked"),
  });
  expect(refused && told(refused)).toMatchObject({ text: expect.stringContaining("There is no tool") });
});

test("A found tool is called with its own name in the journal, and the model reads what it has written", async () => {
  const { journal, requests } = await run({
    dispatcher: open(),
    replies: [find("list issues of the tracker"), call("tracker__list_issue"), { text: "Done." }],
  });
  const [first, second, third] = requests;
  if (!first || !second || !third) throw new Error("There are three requests.");
  expect(told(second)).toMatchObject({
    name: "find_tools",
    text: expect.stringMatching(/^<tool name="tracker__list_issue">\n[\s\S]*"required":\["id"\]/),
  });
  expect(told(third)).toMatchObject({ name: "call_tool", text: 'tracker__list_issue {"id":"7"}' });
  expect(third.messages.at(-2)).toMatchObject({
    parts: [{ call: { name: "call_tool", input: { name: "tracker__list_issue", arguments: { id: "7" } } } }],
  });
  const starts = journal.flatMap((record) => (record.type === "assistant" ? record.message.parts : []));
  expect(starts).toContainEqual(
    expect.objectContaining({
      call: expect.objectContaining({ name: "tracker__list_issue", input: { id: "7" } }),
    }),
  );
  expect(third.messages.slice(0, second.messages.length)).toEqual(second.messages);
  expect(third.tools).toEqual(first.tools);
});

test("Rules and approvals judge the tool that is called, whatever it is called by", async () => {
  const seen: string[] = [];
  const { requests } = await run({
    dispatcher: open(offered, {
      policy: ({ name }) => {
        seen.push(name);
        return name.includes("delete")
          ? { action: "deny", why: "Nothing is deleted here." }
          : { action: "allow" };
      },
    }),
    replies: [call("crm__delete_team"), { text: "Done." }],
  });
  expect(requests[1] && told(requests[1])).toMatchObject({
    status: "error",
    text: expect.stringContaining("DENIED: crm__delete_team was not run: Nothing is deleted here."),
  });
  expect(new Set(seen)).toEqual(new Set(["crm__delete_team"]));
});

test.for([
  [
    "a tool that there is not",
    call("crm__fly"),
    /no tool "crm__fly" behind call_tool: find it with find_tools/,
  ],
  ["a tool that is listed", call("bash"), /no tool "bash" behind call_tool.*call it directly/],
  ["no name", { calls: [{ name: "call_tool", input: {} }] }, /INVALID_PARAM: call_tool was not run/],
  [
    "its own name",
    { calls: [{ name: "crm__fly" }] },
    /Unknown tool "crm__fly"\. Valid tools: bash, find_tools, call_tool\./,
  ],
] as const)("A call by %s is answered with what to do", async ([, reply, answer]) => {
  const calls = reply.calls.map((each) => ({ ...each }));
  const { requests } = await run({ dispatcher: open(), replies: [{ calls }, { text: "Done." }] });
  expect(requests[1] && told(requests[1])).toMatchObject({
    status: "error",
    text: expect.stringMatching(answer),
  });
});

test("Arguments may come as JSON in a string, or not at all", async () => {
  const bare = { calls: [{ name: "call_tool", input: { name: "crm__get_team" } }] };
  const { requests } = await run({
    dispatcher: open(),
    replies: [call("crm__get_team", '{"id":"9"}'), bare, { text: "Done." }],
  });
  expect(requests.slice(1).map((request) => told(request))).toMatchObject([
    { text: 'crm__get_team {"id":"9"}' },
    { text: "crm__get_team {}" },
  ]);
});

test.for([
  ["crm__get_team", "crm__get_team"],
  ["get_team", "billing__get_team"],
  ["pull requests deploy search", "deploy__search_pull_request"],
  ["createRelease github", "github__create_release"],
] as const)("Asked for %s, the best is %s", async ([query, best]) => {
  const { requests } = await run({ dispatcher: open(), replies: [find(query), { text: "Done." }] });
  const names = [...((requests[1] && told(requests[1])?.text.matchAll(/^<tool name="([^"]+)">/gm)) ?? [])];
  expect(names).toHaveLength(5);
  if (query === "get_team") expect(names[0]?.[1]).toMatch(/__get_team$/);
  else expect(names[0]?.[1]).toBe(best);
});

test("The prefix stays the same over twenty requests while the servers change their tools", async () => {
  const requests: ModelRequest[] = [];
  let journal: JournalRecord[] | undefined;
  for (let turn = 0; turn < 10; turn += 1) {
    const { journal: after, requests: made } = await run({
      dispatcher: open(offered.slice(turn)),
      replies: [call("github__search_wiki", { id: String(turn) }), { text: "Done." }],
      ...(journal && { journal }),
    });
    requests.push(...made);
    const at = turn + 1;
    journal = [
      ...after,
      {
        type: "turn-end",
        turn: "t1",
        outcome: { kind: "answered", text: "Done.", steps: 2, usage: noTurnUsage },
        at,
      },
      { type: "turn-start", turn: "t1", at },
      {
        type: "user",
        message: { role: "user", id: `m${turn}`, author: { id: "U1", name: "Ada" }, text: "Go on", at },
      },
    ];
  }
  expect(requests).toHaveLength(20);
  for (const [index, { system, tools, messages }] of requests.entries()) {
    const next = requests[index + 1];
    if (!next) continue;
    expect(JSON.stringify({ system: next.system, tools: next.tools })).toBe(
      JSON.stringify({ system, tools }),
    );
    expect(next.messages.slice(0, messages.length)).toEqual(messages);
  }
});

const noTurnUsage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0, calls: 0 };

test("Tools that were found survive a summary, those that were called first of all", async () => {
  const { model } = scriptedModel([]);
  const writer = scriptedModel(() => ({ text: "## Done\nMuch." }));
  const window = createContextWindow({
    model: { ...model, limits: { ...model.limits, contextTokens: 40_000 } },
    summariser: writer.model,
    counter,
  });
  const { journal } = await run({
    dispatcher: open(),
    replies: [find("team in billing"), call("billing__get_team"), { text: "Done." }],
  });
  const messages = journal.flatMap((record) =>
    record.type === "user" || record.type === "assistant" || record.type === "tool-result"
      ? [record.message]
      : [],
  );
  const talk = Array.from({ length: 60 }, (_, at) => ({
    role: "user" as const,
    id: `talk${at}`,
    author: { id: "U1", name: "Ada" },
    text: "word ".repeat(700),
    at,
  }));
  const compaction = window.compactToFit([...messages, ...talk], {
    fixed: "",
    force: false,
    signal: AbortSignal.any([]),
  });
  let step = await compaction.next();
  while (!step.done) step = await compaction.next();
  const [summary] = step.value.messages;
  if (summary?.role !== "summary") throw new Error("There is no summary.");

  const kept = summary.text.split("# Tool that was found").slice(1);
  expect(kept.length).toBeGreaterThan(1);
  expect(kept.at(-1)).toContain('<tool name="billing__get_team">');
});
