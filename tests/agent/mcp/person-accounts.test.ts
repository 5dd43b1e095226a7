import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import type { Asker } from "../../../src/agent/mcp/people/asker.ts";
import type { McpPool } from "../../../src/agent/mcp/pool.ts";
import { disconnectAccount } from "../../../src/agent/mcp/sign-in/disconnect.ts";
import { beginSignIn } from "../../../src/agent/mcp/sign-in/sign-in.ts";
import type { ToolResult } from "../../../src/agent/tools/tool.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { createAccountStore } from "../../../src/queue/stores/mcp-accounts.ts";
import { type FakeOAuthOptions, startFakeOAuth } from "../../fakes/oauth.ts";
import { startRedis } from "../../fakes/redis.ts";
import { never, poolOf, run } from "./harness.ts";
import { startHttpFixture } from "./servers/http.ts";
import { listenForTest } from "../../fakes/listen-for-test.ts";

/** Who owns a call: docs/decisions/0053-calls-use-the-account-of-who-asked.md. */

const secret = "a secret of more than thirty-two letters";
const redirectUrl = new URL("http://127.0.0.1:8421/callback");

const asker = (id: string, others: readonly string[] = []): Asker => ({
  person: `slack:T1:${id}`,
  name: id,
  others: () => others,
});
const [ada, bob] = [asker("ada"), asker("bob")];

/** A server that takes accounts of persons behind its sign-in, and processes that share a Redis. */
async function scene(options: Omit<FakeOAuthOptions, "upstream"> = {}) {
  const whoami = {
    name: "whoami",
    inputSchema: { type: "object" as const, properties: { say: { type: "string" } } },
  };
  const fixture = await startHttpFixture("http", 0, { more: [whoami] });
  onTestFinished(() => fixture.stop());
  const oauth = await startFakeOAuth({ ...options, upstream: fixture.url });
  onTestFinished(() => oauth.close());
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const accounts = createAccountStore(redis.client(), secret);
  let clock = 0;
  const connect = async ({ person, name }: Asker, account: string = name) => {
    const begun = await beginSignIn(
      { name: "notes", url: new URL(oauth.mcp) },
      { settings: {}, redirectUrl },
    );
    const made = await begun.finish(new URL(await oauth.agree(begun.url.href, account)));
    await accounts.of(person).write("notes", { ...made, connectedAt: ++clock });
  };
  const open = (more: object = {}) =>
    poolOf(
      { notes: { url: oauth.mcp, type: "http", signIn: { accounts: "person" } } },
      { accounts, backoff: { baseMs: 1, capMs: 1 }, ...more },
    );
  return { fixture, oauth, redis, accounts, connect, open };
}

async function callTool(
  pool: McpPool,
  who: Asker | undefined,
  name: string,
  input = {},
): Promise<ToolResult> {
  const { tools } = await pool.offer(never, who);
  const tool = tools.find((each) => each.name === `notes__${name}`);
  return tool ? await run(tool, input) : { status: "error", text: `no tool ${name}` };
}

const names = async (pool: McpPool, who?: Asker) =>
  (await pool.offer(never, who)).tools.map(({ name }) => name);

test("Each person's calls are made with their own account, also at the same time and after a restart", async () => {
  const { connect, open } = await scene();
  await connect(ada);
  await connect(bob);
  for (const pool of [await open(), await open()]) {
    const both = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? ada : bob));
    const said = await Promise.all(
      both.map((who) => callTool(pool, who, "whoami", { say: `${who.name} is ` })),
    );
    expect(said.map(({ text }) => text)).toEqual(both.map(({ name }) => `${name} is ${name}`));
  }
});

test("Whoever has no account has no tools of the server but the one that asks for it, and cannot use another's", async () => {
  const { connect, open } = await scene();
  await connect(ada);
  const pool = await open();
  const adas = await pool.offer(never, ada);
  expect(await names(pool, bob)).toEqual(["notes__connect_account"]);
  expect(await names(pool)).toEqual(["notes__connect_account"]);
  // The same person's id in another workspace, or on another platform, is somebody else.
  for (const person of ["slack:T2:ada", "discord:T1:ada", "slack:T1:ad", "slack:T1:ada:"])
    expect(await names(pool, { ...ada, person })).toEqual(["notes__connect_account"]);
  expect(adas.tools.map(({ name }) => name)).toContain("notes__whoami");
  // Nothing but what asks for an account is sent with requests, whoever has asked.
  expect(adas.tools.filter(({ personal }) => !personal).map(({ name }) => name)).toEqual([
    "notes__connect_account",
  ]);
  expect(adas.instructions).toEqual([]);
});

test("The definition of what asks for an account is the same for everybody", async () => {
  const { connect, open } = await scene();
  await connect(ada);
  const pool = await open();
  const shown = await Promise.all(
    [ada, bob, undefined].map(async (who) => {
      const { tools } = await pool.offer(never, who);
      return tools
        .filter(({ personal }) => !personal)
        .map(({ name, description }) => ({ name, description }));
    }),
  );
  expect(shown[1]).toEqual(shown[0]);
  expect(shown[2]).toEqual(shown[0]);
});

test("An account that was revoked ends, the call says so, and its person is asked for another one", async () => {
  const { connect, open, oauth, accounts } = await scene();
  await connect(ada);
  await connect(bob);
  const pool = await open();
  const { tools } = await pool.offer(never, ada);
  const whoami = tools.find(({ name }) => name === "notes__whoami");
  const connecting = tools.find(({ name }) => name === "notes__connect_account");
  if (!whoami || !connecting) throw new Error("The tools are missing.");
  const services = { notes: undefined as never, now: Date.now };
  expect(await connecting.review?.({}, services, never)).toEqual({ action: "allow" });
  oauth.revoke("ada");
  expect(await run(whoami)).toMatchObject({
    status: "error",
    text: expect.stringContaining("notes__connect_account asks for an account"),
  });
  expect(await accounts.of(ada.person).read("notes")).toMatchObject({ ended: true });
  expect(await connecting.review?.({}, services, never)).toMatchObject({
    action: "ask",
    connect: { server: "notes", host: expect.stringContaining("127.0.0.1") },
  });
  expect((await callTool(pool, bob, "whoami")).text).toBe("bob");
  // Connected again, with another account there: the connection of the one before is not used any more.
  await connect(ada, "ada-at-work");
  expect((await run(whoami)).text).toBe("ada-at-work");
});

test("A token that has ended is renewed for its person alone; where the server is silent the account is kept", async () => {
  const { connect, open, oauth, accounts } = await scene();
  await connect(ada);
  await connect(bob);
  const pool = await open();
  await pool.offer(never, ada);
  oauth.expireTokens();
  expect((await callTool(pool, ada, "whoami")).text).toBe("ada");
  expect(oauth.renewals).toBe(1);
  expect((await callTool(pool, bob, "whoami")).text).toBe("bob");
  oauth.expireTokens();
  oauth.hush("redirect");
  await callTool(pool, ada, "whoami");
  expect((await accounts.of(ada.person).read("notes"))?.ended).toBeUndefined();
});

test("What was disconnected is revoked there, and no call is made with it, also by a connection that is open", async () => {
  const { connect, open, oauth, accounts } = await scene();
  await connect(ada);
  await connect(bob);
  const pool = await open();
  const { tools } = await pool.offer(never, ada);
  const whoami = tools.find(({ name }) => name === "notes__whoami");
  if (!whoami) throw new Error("The tool is missing.");
  const { accessToken = "" } = (await accounts.of(ada.person).read("notes")) ?? {};
  expect(await disconnectAccount(accounts.of(ada.person), "notes")).toEqual({ was: true, revoked: true });
  expect((await run(whoami)).text).toContain("There is no account");
  const answer = await fetch(oauth.mcp, {
    method: "POST",
    headers: { authorization: `Bearer ${accessToken}` },
  });
  expect(answer.status).toBe(401);
  expect(await disconnectAccount(accounts.of(ada.person), "notes")).toEqual({ was: false, revoked: false });
  expect(await accounts.list()).toEqual([{ server: "notes", person: bob.person }]);
});

test("A token is revoked at a private address only where the operator has named that host", async () => {
  const { connect, accounts } = await scene();
  const asked: string[] = [];
  const inside = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.end();
  });
  const { host } = new URL(await listenForTest(inside));
  const disconnectAt = async (endpoint: string, hosts: string[] = []) => {
    await connect(ada);
    const store = accounts.of(ada.person);
    const account = await store.read("notes");
    if (!account) throw new Error("There is an account.");
    const metadata = { ...account.metadata, revocation_endpoint: endpoint };
    await store.write("notes", { ...account, metadata, hosts });
    const said = await disconnectAccount(store, "notes");
    expect(await store.read("notes")).toBeUndefined();
    return said;
  };
  for (const there of [`http://${host}/revoke`, "https://169.254.169.254/revoke", "https://localhost/revoke"])
    expect(await disconnectAt(there)).toEqual({ was: true, revoked: false });
  expect(asked).toEqual([]);
  expect(await disconnectAt(`http://${host}/revoke`, [host])).toEqual({ was: true, revoked: true });
  expect(asked).toEqual(["POST /revoke", "POST /revoke"]);
});

test("A renewal that is under way does not bring back what is disconnected meanwhile", async () => {
  const { connect, open, oauth, accounts } = await scene();
  await connect(ada);
  const pool = await open();
  await pool.offer(never, ada);
  oauth.expireTokens();
  const [said] = await Promise.all([
    callTool(pool, ada, "whoami"),
    disconnectAccount(accounts.of(ada.person), "notes"),
  ]);
  expect(["ada", "no tool whoami", expect.stringContaining("There is no account")]).toContainEqual(said.text);
  expect(await accounts.of(ada.person).read("notes")).toBeUndefined();
});

test("What is stored of one person opens for no other, nor for the installation", async () => {
  const { connect, accounts, redis } = await scene();
  await connect(ada);
  const client = redis.client();
  const [sealed = ""] = Object.values(await client.hgetall(keys.mcpPersonAccounts));
  expect(sealed).not.toContain("at-");
  await client.hset(keys.mcpPersonAccounts, JSON.stringify(["notes", bob.person]), sealed);
  await client.hset(keys.mcpAccounts, "notes", sealed);
  expect(await accounts.of(bob.person).read("notes")).toBeUndefined();
  await expect(accounts.read("notes")).rejects.toThrow(/cannot be read with this HEDDLE_SEAL_KEY/);
  expect(await accounts.of(ada.person).read("notes")).toMatchObject({ connectedAt: 1 });
});

test("Where others have written into the turn, its owner alone approves a call", async () => {
  const { connect, open } = await scene();
  await connect(ada);
  const others: string[] = [];
  const { tools } = await (await open()).offer(never, asker("ada", others));
  const whoami = tools.find(({ name }) => name === "notes__whoami");
  const services = { notes: undefined as never, now: Date.now };
  expect(await whoami?.review?.({}, services, never)).toEqual({ action: "allow" });
  others.push("bob");
  expect(await whoami?.review?.({}, services, never)).toEqual({
    action: "ask",
    ownAccount: true,
    why: "It would be made with ada's account at notes, and bob wrote into this task too.",
  });
});

test("A connection that nobody uses is closed, and opened again when it is needed", async () => {
  const { connect, open, fixture } = await scene();
  await connect(ada);
  const pool = await open({ idleMs: 20 });
  const { tools } = await pool.offer(never, ada);
  await expect.poll(() => fixture.ended).toBe(1);
  expect(pool.status()).toMatchObject([{ state: "idle" }]);
  const whoami = tools.find(({ name }) => name === "notes__whoami");
  expect(whoami && (await run(whoami)).text).toBe("ada");
});

test("A turn that nobody has asked for is told that it has no account", async () => {
  const { open } = await scene();
  const [connecting] = (await (await open()).offer(never)).tools;
  const services = { notes: undefined as never, now: Date.now };
  expect(await connecting?.review?.({}, services, never)).toEqual({
    action: "deny",
    why: expect.stringContaining("no person has asked for this"),
  });
});

test("Where accounts cannot be connected, the model reads why", async () => {
  const { open } = await scene();
  const pool = await open({ connectProblem: () => "the operator must set hooks.address." });
  const [connecting] = (await pool.offer(never, ada)).tools;
  const services = { notes: undefined as never, now: Date.now };
  expect(await connecting?.review?.({}, services, never)).toEqual({
    action: "deny",
    why: "the operator must set hooks.address.",
  });
});

test("An account that lacks a permission is to be connected again, and says what for", async () => {
  const { connect, open, accounts } = await scene({ guarded: { tool: "whoami", scope: "notes:all" } });
  await connect(ada);
  const pool = await open();
  expect((await callTool(pool, ada, "whoami")).text).toMatch(
    /^The account at the MCP server notes may not do this: it lacks the permission notes:all\. The call has not run; \S+connect\S* asks/,
  );
  const { tools } = await pool.offer(never, ada);
  const connectTool = tools.find(({ name }) => name.includes("connect"));
  const services = { notes: undefined as never, now: Date.now };
  expect(await connectTool?.review?.({}, services, never)).toMatchObject({
    action: "ask",
    why: "ada must connect the account at notes again: it lacks the permission notes:all.",
  });
  // What others have connected is as it was.
  await connect(bob);
  expect((await accounts.of(bob.person).read("notes"))?.wanted).toBeUndefined();
});
