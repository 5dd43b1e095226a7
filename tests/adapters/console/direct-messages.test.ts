import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { routes } from "../../../src/adapters/console/api/api.ts";
import type { Need } from "../../../src/adapters/console/api/question-routes.ts";
import type { Act, Role } from "../../../src/chat/roles.ts";
import type { AuditPage, ThreadPage } from "../../../src/operations/finding.ts";
import { createAccessTokens } from "../../../src/operations/people/access-tokens.ts";
import { openAuditLog } from "../../../src/telemetry/audit/log.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { call, openStream } from "./requests.ts";
import { askAbout, begin, call as toolCall, calling, resultOf, write } from "./sessions.ts";
import { type ConsoleSettings, startConsole, type TestConsole } from "./start-console.ts";

/**
 * Direct messages of others are read by roles that the settings name, and by nobody else, wherever the console, its API,
 * its streams and its MCP server could tell what is said in them.
 */

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
afterEach(() => redis.client().flushall());

const own = "correct-horse-battery";
const slack = "slack:T1:D1:1.5";
const discord = "discord:dm:77:77";
/** In everything that is said and done there. */
const secret = /confidential/i;
const roles: Role[] = ["operator", "member", "viewer"];
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const people = async (role: Role, name: string = role) =>
  bearer((await createAccessTokens(redis.client(), Date.now).create({ name, role })).token);
const at = (thread: string, verb = "") => `/api/v1/sessions/${encodeURIComponent(thread)}${verb}`;

/** A message, a call, its result, a question about another call, a message that waits, a file, and lines of the audit log. */
async function converse(
  console: TestConsole,
  thread: string,
): Promise<{ question: string; waiting: string }> {
  const client = redis.client();
  await write(client, thread, "The confidential plan", "U1");
  const lease = await begin(client, thread);
  const command = { command: "cat confidential-plan.txt" };
  await lease.append([
    calling(1, [{ type: "text", text: "A confidential answer" }, toolCall("c0", "bash", command)]),
    resultOf("c0", "bash", "confidential result"),
    calling(2, [toolCall("c1", "bash", command)]),
  ]);
  const asking = {
    ...{ kind: "approval" as const, why: "a confidential rule" },
    rules: [{ id: "r1", text: "cat confidential*" }],
  };
  const { id: question } = await askAbout(lease, thread, asking, "U1");
  const waiting = await write(client, thread, "A confidential afterthought", "U1");
  console.workspace.set("confidential.txt", "confidential");
  const log = openAuditLog(client, Date.now, (problem) => expect.unreachable(problem));
  const ids = { thread, turn: "t1", call: "c0", tool: "bash" };
  const by = { id: "U1", name: "Una" };
  await log.append({
    what: "tool-began",
    ...ids,
    sha256: "0".repeat(64),
    arguments: JSON.stringify(command),
  });
  await log.append({
    ...{ what: "decided", thread, question, tool: "bash", decision: "approved", by },
    rules: ["cat confidential*"],
  });
  await log.close();
  return { question, waiting };
}

const open = async (settings: ConsoleSettings = {}) => {
  const console = await startConsole({ redis, token: own, recheckMs: 20, ...settings });
  const asked = await converse(console, slack);
  await converse(console, discord);
  return Object.assign(console, asked);
};

const reads = routes.filter(({ method }) => method === "GET");
const ofThreads = reads.filter(({ path }) => path.includes("/:thread") && !/uploads|thumbnails/.test(path));
/** With what it takes for an answer. */
const others = reads
  .filter(
    ({ path, answers }) =>
      !path.includes("/:thread") && !(typeof answers === "object" && "events" in answers),
  )
  .map(({ path }) => (path.endsWith("/search") ? `${path}?words=confidential` : path));
const streams = [
  ["/api/v1/events", "threads"],
  ["/api/v1/sessions/events", "sessions"],
] as const;

describe("without a role that the settings name", () => {
  test.each(roles)("no address tells a %s what is said, and the audit log has no reading", async (role) => {
    await using console = await open();
    const headers = await people(role);
    for (const thread of [slack, discord])
      for (const { path } of ofThreads) {
        const address = path.replace(":thread", encodeURIComponent(thread)).replace(/:\w+/, "1.0");
        const answer = await call(console.url, address, { headers });
        expect([path, answer.status, secret.test(answer.body)]).toEqual([path, 403, false]);
      }
    for (const path of others) {
      const answer = await call(console.url, path, { headers });
      expect([path, [200, 403].includes(answer.status), secret.test(answer.body)]).toEqual([
        path,
        true,
        false,
      ]);
    }
    for (const [path, event] of streams) {
      using page = await openStream(console.url, path, headers);
      expect(JSON.stringify(await page.next(event))).not.toMatch(secret);
      expect(JSON.stringify(await page.next("needs"))).not.toMatch(secret);
    }
    expect(console.audited).toEqual([]);
  });

  test("lists say that there is one, and neither its title nor its words find it", async () => {
    await using console = await open();
    const headers = await people("viewer");
    const list = async (query = "") =>
      (await call(console.url, `/api/v1/sessions${query}`, { headers })).json() as ThreadPage;
    expect((await list()).lines.map(({ title }) => title)).toEqual(["Direct message", "Direct message"]);
    expect(await list("?words=confidential")).toMatchObject({ lines: [] });
    const needs = (await call(console.url, "/api/v1/needs", { headers })).json() as Need[];
    const hidden = {
      call: "",
      note: "",
      choices: [],
      forThread: [],
      text: "This is asked in a direct message.",
    };
    expect(needs).toMatchObject([
      { boundTo: "Person U1", question: hidden },
      { boundTo: "Person U1", question: hidden },
    ]);
  });

  test("the audit log hides how commands began there, and there only", async () => {
    await using console = await open();
    const log = openAuditLog(redis.client(), Date.now, (problem) => expect.unreachable(problem));
    const ids = { turn: "t1", call: "c0", tool: "bash", sha256: "0".repeat(64) };
    await log.append({ what: "tool-began", thread: "slack:T1:C1:2.5", ...ids, arguments: "ls" });
    await log.close();
    for (const role of ["operator", "viewer"] as const) {
      const answer = await call(console.url, "/api/v1/audit", { headers: await people(role) });
      const texts = (answer.json() as AuditPage).lines.map(({ rest }) => rest.text);
      expect(texts[0]).toBe("tool: bash · arguments: ls");
      expect(texts).toContain("tool: bash · arguments: (of a direct message)");
      expect(texts.join()).toContain("rules: (of a direct message)");
    }
    expect(console.audited).toEqual([]);
  });

  test("an operator stops, renames, archives and deletes, and learns nothing by it", async () => {
    await using console = await open();
    const headers = await people("operator");
    const { question, waiting } = console;
    const before = console.intake.events.length;
    const post = async (verb: string, json: object) => {
      const answer = await call(console.url, at(slack, verb), { method: "POST", headers, json });
      expect(answer.body).not.toMatch(secret);
      return answer.status;
    };
    // Its answer is the list of what waits.
    for (const change of [{ change: "first" }, { change: "remove" }, { change: "move", place: 1 }])
      expect(await post("/queue", { message: waiting, ...change })).toBe(403);
    for (const decision of ["approve", "deny"])
      expect(await post(`/questions/${question}`, { decision })).toBe(403);
    expect(await post(`/questions/${question}`, { decision: "answer", text: "Yes" })).toBe(403);
    expect(console.intake.events).toHaveLength(before);
    expect(await post("/stop", {})).toBe(200);
    expect(await post("/continue", {})).toBe(409);
    expect(await post("/title", { title: "Of Una" })).toBe(200);
    expect(await post("/archive", { archived: true })).toBe(409);
    expect(await post("/delete", {})).toBe(409);
    expect(console.audited.map(({ action }) => action)).toEqual(["thread-renamed"]);
  });

  test("an editor reads nothing by MCP", async () => {
    await using console = await open();
    for (const role of roles) {
      const requestInit = { headers: await people(role) };
      const client = new Client({ name: "editor", version: "1" });
      await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", console.url), { requestInit }));
      const uses: [string, object][] = [
        ["read", {}],
        ["follow", { wait_seconds: 0 }],
        ["say", { text: "Hello" }],
        ["answer", { question: console.question, decision: "approve" }],
      ];
      for (const [name, input] of uses) {
        const result = await client.callTool({ name, arguments: { thread: slack, ...input } });
        expect([name, result.isError]).toEqual([name, true]);
        expect(JSON.stringify(result)).not.toMatch(secret);
      }
      await client.close();
    }
    expect(console.audited).toEqual([]);
  });
});

describe("with operators named", () => {
  const access = { directMessages: ["operator"] };

  test("two of them read, the audit log names each once an hour, and a viewer reads nothing", async () => {
    await using console = await open({ access });
    const [ada, bob] = [await people("operator", "ada"), await people("operator", "bob")];
    const vera = await people("viewer", "vera");
    const read = async (headers: Record<string, string>, verb = "/timeline") =>
      await call(console.url, at(slack, verb), { headers });
    for (const headers of [ada, ada, bob]) expect((await read(headers)).body).toMatch(secret);
    expect((await read(ada, "/export?format=markdown")).body).toMatch(secret);
    expect((await read(vera)).status).toBe(403);
    expect((await read(vera, "/export?format=markdown")).status).toBe(403);
    const noted = (action: string, name: string) => ({
      ...{ action, thread: slack, by: expect.objectContaining({ id: `@${name}`, name }) },
    });
    expect(console.audited).toEqual([
      ...[noted("direct-read", "ada"), noted("direct-read", "bob"), noted("thread-exported", "ada")],
    ]);
  });

  test.each([
    ["the list of questions", "/api/v1/questions"],
    ["what needs people", "/api/v1/needs"],
    ["the audit log", "/api/v1/audit"],
  ])("who reads them in %s is in the audit log too", async (_, path) => {
    await using console = await open({ access });
    const answer = await call(console.url, path, { headers: await people("operator", "ada") });
    expect(answer.body).toMatch(secret);
    const by = expect.objectContaining({ name: "ada" });
    const expected = [discord, slack].map((thread) => ({ action: "direct-read", thread, by }));
    expect(console.audited.toSorted((a, b) => (a.thread < b.thread ? -1 : 1))).toEqual(expected);
    expect((await call(console.url, path, { headers: await people("viewer", "vera") })).body).not.toMatch(
      secret,
    );
    expect(console.audited).toHaveLength(2);
  });

  test("they decide there, and change what waits", async () => {
    await using console = await open({ access });
    const headers = await people("operator", "ada");
    const post = async (verb: string, json: object) =>
      (await call(console.url, at(slack, verb), { method: "POST", headers, json })).status;
    expect(await post("/queue", { message: console.waiting, change: "first" })).toBe(200);
    expect(await post(`/questions/${console.question}`, { decision: "approve" })).toBe(200);
    expect(console.intake.events.slice(-2)).toMatchObject([
      { action: `queue-first:1.5:${console.waiting}`, author: { id: "@ada" } },
      { action: `approve:${console.question}`, author: { id: "@ada" } },
    ]);
    expect(console.audited).toMatchObject([{ action: "direct-read", thread: slack, by: { id: "@ada" } }]);
  });

  test("an open stream ends when the settings name the role no longer, and no other stream does", async () => {
    let named = true;
    const mayUse = (role: Role, act: Act) => role === "operator" && (act !== "read-direct" || named);
    await using console = await open({ mayUse });
    const headers = await people("operator", "ada");
    using page = await openStream(console.url, at(slack, "/events?from=0"), headers);
    expect(JSON.stringify(await page.next("entries"))).toMatch(secret);
    using list = await openStream(console.url, "/api/v1/sessions/events", headers);
    await list.next("sessions");
    named = false;
    await expect(page.next("never")).rejects.toThrow(/ended|aborted/);
    expect((await openStream(console.url, at(slack, "/events?from=0"), headers)).status).toBe(403);
    await write(redis.client(), "slack:T1:C1:3.5", "Paint the fence");
    // What has been read before stays one reading.
    expect(console.audited).toHaveLength(1);
    const again = await call(console.url, "/api/v1/sessions", { headers });
    expect(again.status).toBe(200);
  });
});
