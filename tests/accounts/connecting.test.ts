import { expect, onTestFinished, test } from "vitest";
import { createAccountConnecting, type ServerEntry } from "../../src/accounts/connecting.ts";
import { AccountBusy, type AccountStore } from "../../src/agent/contracts/mcp-account.ts";
import { createPages } from "../../src/accounts/pages.ts";
import { createConnectingRecords } from "../../src/accounts/records.ts";
import { openHooks } from "../../src/hooks/server.ts";
import type { AskedAccount } from "../../src/intake/questions/account-connecting.ts";
import { createRateLimiter } from "../../src/queue/outbox/rate-limit.ts";
import { createAccountStore } from "../../src/queue/stores/mcp-accounts.ts";
import { codeOn, createBrowser, type Browser } from "../fakes/browser.ts";
import { freePort } from "../fakes/free-port.ts";
import { memoryChat } from "../fakes/memory-chat.ts";
import { type FakeOAuthOptions, startFakeOAuth } from "../fakes/oauth.ts";
import { startRedis } from "../fakes/redis.ts";

const secret = "a secret of more than thirty-two letters";

/** Gateways that share a Redis, an authorization server, and questions of people in threads. */
async function scene(options: Omit<FakeOAuthOptions, "upstream"> & { isBusy?: boolean } = {}) {
  const oauth = await startFakeOAuth({ ...options, upstream: "http://127.0.0.1:9" });
  onTestFinished(() => oauth.close());
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const port = await freePort();
  const address = `http://127.0.0.1:${port}`;
  let entry: ServerEntry | undefined = { url: new URL(oauth.mcp), settings: { accounts: "person" } };
  const accounts = createAccountStore(redis.client(), secret);
  const renewAlone = (server: string) => Promise.reject(new AccountBusy(server));
  const busy = (person: string): AccountStore => ({ ...accounts.of(person), renewAlone });
  const connecting = createAccountConnecting({
    records: async () => createConnectingRecords(redis.client(), secret),
    accounts: async () => (options.isBusy ? { ...accounts, of: busy } : accounts),
    address,
    findServer: (name) => (name === "notes" ? entry : undefined),
    now: Date.now,
    stepMs: 1_000,
  });
  const problems: string[] = [];
  const hooks = await openHooks({
    ...{ host: "127.0.0.1", port, redis: redis.client(), triggers: new Map() },
    queue: { wake: async () => {} },
    output: createRateLimiter(redis.client()),
    surface: () => memoryChat().surface,
    mayAsk: async () => ({ allowed: true }),
    confirm: (work) => work,
    now: Date.now,
    onProblem: (problem) => problems.push(problem),
    pages: createPages(connecting, address),
  });
  onTestFinished(() => hooks.close());
  const asked = (id: string, question = "q1", thread = "slack:T1:C1:1.0"): AskedAccount => ({
    thread,
    question: {
      ...{
        kind: "account",
        server: "notes",
        host: "notes.example",
        id: question,
        callId: "c",
        tool: "connect",
      },
      ...{ requester: { id, name: id }, askedAt: 0, expiresAt: Date.now() + 60_000 },
    },
  });
  const link = async (about: AskedAccount): Promise<string> => {
    const offered = await connecting.offerLink(about);
    if ("problem" in offered) throw new Error(offered.problem);
    return offered.link;
  };
  /** Goes from a link to the page with the code. */
  const signIn = async (about: AskedAccount, account: string, browser: Browser = createBrowser()) => {
    const sent = await browser.submit(await browser.open(await link(about)));
    return await browser.open(await oauth.agree(sent.location ?? "", account));
  };
  const change = (next: ServerEntry | undefined) => void (entry = next);
  const read = (person: string) => accounts.of(person).read("notes");
  return { oauth, redis, connecting, address, asked, link, signIn, change, read, problems };
}

test("An account is a person's once that person has entered the code of the page, and not before", async () => {
  const { asked, signIn, connecting, read } = await scene();
  const about = asked("ada");
  const page = await signIn(about, "ada-there");
  expect(page.text).toContain("Give this code to nobody");
  expect(await read("slack:T1:ada")).toBeUndefined();
  const code = codeOn(page);
  expect(await connecting.confirm(about, "ABCD-EFGH")).toMatchObject({ kind: "refused" });
  // As people write it; and twice, as a platform delivers it.
  const written = ` ${code.toLowerCase().replace("-", "")}\n`;
  for (const _ of [1, 2]) expect(await connecting.confirm(about, written)).toEqual({ kind: "connected" });
  expect(await read("slack:T1:ada")).toMatchObject({ accessToken: expect.stringMatching(/^at-/) });
});

test("Whoever connects an account that another process does not let go of is told to try again", async () => {
  const { asked, signIn, connecting } = await scene({ isBusy: true });
  const about = asked("ada");
  const code = codeOn(await signIn(about, "ada-there"));
  expect(await connecting.confirm(about, code)).toEqual({
    kind: "refused",
    why: expect.stringContaining("try again in a minute"),
  });
});

test("A link that is forwarded binds nobody's account to whoever has sent it", async () => {
  const { asked, signIn, connecting, read, link } = await scene();
  const mallory = asked("mallory");
  const victim = createBrowser();
  const shown = await victim.open(await link(mallory));
  expect(shown.text).toContain("Go on only if you are mallory");
  expect(shown.text).toContain("they would get to use your account");
  // The victim goes on all the same: Mallory does not know what that browser shows.
  await signIn(mallory, "victim-there", victim);
  for (let guess = 0; guess < 6; guess += 1)
    expect(await connecting.confirm(mallory, `AAAA-AAA${guess + 2}`)).toMatchObject({ kind: "refused" });
  expect(await read("slack:T1:mallory")).toBeUndefined();
});

test("A code is worth nothing after five wrong ones, in another question, and for another person", async () => {
  const { asked, signIn, connecting, read } = await scene();
  const about = asked("ada");
  const code = codeOn(await signIn(about, "ada-there"));
  for (const other of [asked("ada", "q2"), asked("ada", "q1", "slack:T1:C1:2.0"), asked("bob")])
    expect(await connecting.confirm(other, code)).toMatchObject({ kind: "refused" });
  for (let guess = 0; guess < 5; guess += 1) await connecting.confirm(about, "WRONG");
  expect(await connecting.confirm(about, code)).toMatchObject({
    kind: "refused",
    why: expect.stringContaining("Nobody has signed in yet"),
  });
  expect(await read("slack:T1:ada")).toBeUndefined();
  expect(await read("slack:T1:bob")).toBeUndefined();
});

test("An answer counts only from the browser that was sent, and once", async () => {
  const { asked, link, oauth, connecting } = await scene();
  const about = asked("ada");
  const [adas, victims] = [createBrowser(), createBrowser()];
  const sent = await adas.submit(await adas.open(await link(about)));
  const answer = await oauth.agree(sent.location ?? "", "mallory-there");
  // Mallory has the victim's browser end a sign-in that Mallory has begun.
  expect((await victims.open(answer)).status).toBe(410);
  const page = await adas.open(answer);
  expect((await adas.open(answer)).status).toBe(410);
  expect(await connecting.confirm(about, codeOn(page))).toEqual({ kind: "connected" });
});

test("Looking at a link does nothing, it is good for one sign-in, and no other page can press its button", async () => {
  const { asked, link, address } = await scene();
  const browser = createBrowser();
  const made = await link(asked("ada"));
  for (const _ of [1, 2, 3]) expect((await browser.open(made)).status).toBe(200);
  for (const origin of ["https://evil.example", "null", undefined]) {
    const headers = origin === undefined ? {} : { origin };
    expect((await fetch(made, { method: "POST", headers, redirect: "manual" })).status).toBe(403);
  }
  const page = await browser.open(made);
  expect((await browser.submit(page)).status).toBe(303);
  expect((await browser.submit(page)).status).toBe(410);
  expect((await browser.open(made)).status).toBe(410);
  for (const path of [
    "/connect/",
    "/connect/x",
    `/connect/${"a".repeat(32)}`,
    "/connect/callback?state=x&code=y",
  ])
    expect([404, 410]).toContain((await browser.open(address + path)).status);
});

test("The pages show what people are called as text, and keep everything else out", async () => {
  const { asked, link } = await scene();
  const page = await createBrowser().open(await link(asked("<script>alert(1)</script>")));
  expect(page.text).not.toContain("<script");
  expect(page.text).toContain("&lt;script&gt;");
  expect(page.headers.get("content-security-policy")).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
  expect(page.headers.get("cache-control")).toBe("no-store");
});

test("A link ends when its server is another one by then, and where the operator has named no address there is none", async () => {
  const { asked, link, change, oauth, connecting, redis, read } = await scene();
  const browser = createBrowser();
  const page = await browser.open(await link(asked("ada")));
  const there = { url: new URL(oauth.mcp), settings: {} };
  change({ ...there, url: new URL("https://evil.example/mcp") });
  expect((await browser.submit(page)).status).toBe(410);
  change(there);
  const sent = await browser.submit(await browser.open(await link(asked("ada"))));
  change(undefined);
  expect((await browser.open(await oauth.agree(sent.location ?? "", "x"))).status).toBe(410);
  expect(await connecting.offerLink(asked("ada"))).toMatchObject({
    problem: expect.stringContaining("any more"),
  });
  expect(await read("slack:T1:ada")).toBeUndefined();
  const without = createAccountConnecting({
    records: async () => createConnectingRecords(redis.client(), secret),
    accounts: () => Promise.reject(new Error("not needed")),
    address: undefined,
    findServer: () => there,
    now: Date.now,
  });
  expect(await without.offerLink(asked("ada"))).toMatchObject({
    problem: expect.stringContaining("the operator must set hooks.address"),
  });
});

test("What Redis holds of it is sealed, and opens under no other name", async () => {
  const { asked, link, signIn, connecting, redis } = await scene();
  await link(asked("ada"));
  const code = codeOn(await signIn(asked("ada"), "ada-there"));
  const client = redis.client();
  const stored = await client.keys("heddle:mcp:connecting:*");
  const values = await Promise.all(stored.map((key) => client.get(key)));
  expect(values.join(" ")).not.toMatch(/ada|at-|notes/);
  expect(
    (await Promise.all(stored.map((key) => client.ttl(key)))).every((ttl) => ttl > 0 && ttl <= 900),
  ).toBe(true);
  // Whoever can write to Redis puts Ada's sign-in where Bob's would be.
  const records = createConnectingRecords(client, secret);
  const bobs = asked("bob", "q2");
  await signIn(bobs, "bob-there");
  const all = await client.keys("heddle:mcp:connecting:signedIn:*");
  const [first = "", second = ""] = all;
  const [one, two] = [await client.get(first), await client.get(second)];
  await client.mset(first, two ?? "", second, one ?? "");
  expect(await connecting.confirm(bobs, code)).toMatchObject({ kind: "refused" });
  expect(await records.read("signedIn", JSON.stringify([bobs.thread, "q2"]))).toBeUndefined();
});

test("A refusal at the authorization server, and one that is silent, are told on the page, and Connect works again", async () => {
  const { asked, link, oauth, signIn, connecting, problems } = await scene();
  const browser = createBrowser();
  const sent = await browser.submit(await browser.open(await link(asked("ada"))));
  const denied = new URL(await oauth.agree(sent.location ?? ""));
  denied.searchParams.delete("code");
  denied.searchParams.set("error", "access_denied");
  denied.searchParams.set("error_description", "Call 555 and say your password");
  const page = await browser.open(denied.href);
  expect(page).toMatchObject({ status: 502, text: expect.stringContaining("refused (access_denied)") });
  expect(page.text).not.toContain("555");
  const again = await browser.submit(await browser.open(await link(asked("ada"))));
  oauth.hush("redirect");
  expect((await browser.open(await oauth.agree(again.location ?? ""))).status).toBe(502);
  oauth.hush(undefined);
  const code = codeOn(await signIn(asked("ada"), "ada-there"));
  expect(await connecting.confirm(asked("ada"), code)).toEqual({ kind: "connected" });
  expect(problems).toEqual([]);
});

test("The client's own document says what a registration would have said, and its address is the client's id", async () => {
  const { address } = await scene();
  const response = await fetch(`${address}/connect/client.json`);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(await response.json()).toMatchObject({
    client_id: `${address}/connect/client.json`,
    client_name: "Heddle",
    redirect_uris: [`${address}/connect/callback`],
    token_endpoint_auth_method: "none",
  });
});
