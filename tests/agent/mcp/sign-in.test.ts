import { expect, onTestFinished, test } from "vitest";
import { createAccountStore, UnreadableAccount } from "../../../src/queue/stores/mcp-accounts.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import {
  type Account,
  accountSchema,
  type Accounts,
  listWanted,
} from "../../../src/agent/contracts/mcp-account.ts";
import { beginSignIn } from "../../../src/agent/mcp/sign-in/sign-in.ts";
import { createSignedFetch } from "../../../src/agent/mcp/sign-in/token-source.ts";
import { createMasker } from "../../../src/agent/secrets/mask-secrets.ts";
import { type FakeOAuthOptions, startFakeOAuth } from "../../fakes/oauth.ts";
import { startRedis } from "../../fakes/redis.ts";
import { poolOf, run, toolNamed } from "./harness.ts";
import { startHttpFixture } from "./servers/http.ts";

const redirectUrl = new URL("http://127.0.0.1:8421/callback");
const secret = "a secret of more than thirty-two letters";

/** An MCP server behind a sign-in, and two processes that share a Redis. */
async function scene(options: Omit<FakeOAuthOptions, "upstream"> = {}) {
  const fixture = await startHttpFixture("http");
  onTestFinished(() => fixture.stop());
  const oauth = await startFakeOAuth({ ...options, upstream: fixture.url });
  onTestFinished(() => oauth.close());
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const store = createAccountStore(redis.client(), secret);
  const begin = (settings = {}) =>
    beginSignIn({ name: "notes", url: new URL(oauth.mcp) }, { settings, redirectUrl, stepMs: 1_000 });
  const signIn = async (settings = {}) => {
    const begun = await begin(settings);
    await store.write("notes", await begun.finish(new URL(await oauth.agree(begun.url.href))));
  };
  const problems: string[] = [];
  const open = (accounts: Accounts = store) => {
    const masker = createMasker([]);
    return poolOf(
      { notes: { url: oauth.mcp, type: "http", signIn: true } },
      {
        accounts,
        onToken: (token) => masker.add(token),
        log: ({ message }) => problems.push(message),
        backoff: { baseMs: 1, capMs: 1 },
      },
    ).then((pool) => Object.assign(pool, { masker }));
  };
  return { fixture, oauth, redis, store, begin, signIn, open, problems };
}

const signal = AbortSignal.any([]);

test("Whoever has not signed in is told how; after it the server's tools are there, with its token masked", async () => {
  const { signIn, open, oauth } = await scene();
  const before = await open();
  await before.offer(signal);
  expect(before.status()).toMatchObject([
    { state: "failed", problem: expect.stringContaining("run heddle mcp login notes") },
  ]);
  await signIn();
  const pool = await open();
  const { tools } = await pool.offer(signal);
  expect(tools.length).toBeGreaterThan(0);
  for (const token of oauth.tokens.filter((each) => each.startsWith("at-")))
    expect(pool.masker.mask(`echo ${token}`)).toBe("echo [masked]");
});

test("A token that has ended is renewed once, whatever the number of processes that find out", async () => {
  const { signIn, open, oauth, problems } = await scene();
  await signIn();
  const pools = await Promise.all([open(), open(), open()]);
  for (const pool of pools) await pool.offer(signal);
  oauth.expireTokens();
  const again = await Promise.all([open(), open(), open()]);
  const offers = await Promise.all(again.map((pool) => pool.offer(signal)));
  expect(offers.map(({ tools }) => tools.length > 0)).toEqual([true, true, true]);
  expect(oauth.renewals).toBe(1);
  expect(problems.filter((text) => text.includes("token"))).toEqual([]);
});

test("A token is renewed before it ends", async () => {
  const { signIn, open, oauth } = await scene({ lastsSeconds: 20 });
  await signIn();
  await (await open()).offer(signal);
  expect(oauth.renewals).toBeGreaterThan(0);
});

test("A token that lasts a few minutes, as many servers give them, is not renewed with each request", async () => {
  const { signIn, open, oauth } = await scene({ lastsSeconds: 300 });
  await signIn();
  const call = await toolNamed(await open(), "notes__echo");
  expect((await run(call, { say: "a" })).status).toBe("ok");
  expect(oauth.renewals).toBe(0);
});

test("An account that was taken back costs the server's tools and says what to do", async () => {
  const { signIn, open, oauth, problems } = await scene();
  await signIn();
  oauth.revoke();
  const pool = await open();
  expect((await pool.offer(signal)).tools).toEqual([]);
  expect(pool.status()).toMatchObject([{ problem: expect.stringContaining("run heddle mcp login notes") }]);
  expect(problems.join("\n")).toMatch(/could not be renewed .*run heddle mcp login notes again/);
});

test("A client that is registered by hand signs in with its secret; without one the person is told what to give", async () => {
  const clients = { heddle: { secret: "shh-its-a-secret", redirects: [redirectUrl.href] } };
  const { begin, signIn, open } = await scene({ clients });
  await expect(begin()).rejects.toThrow(/^notes: it registers no client by itself.*signIn\.clientId/);
  await signIn({ clientId: "heddle", clientSecret: "shh-its-a-secret" });
  expect((await (await open()).offer(signal)).tools.length).toBeGreaterThan(0);
});

test("An answer of somebody else is not taken, nor a code twice", async () => {
  const { begin, oauth } = await scene();
  const begun = await begin();
  const good = new URL(await oauth.agree(begun.url.href));
  const change = (name: string, value: string) => {
    const url = new URL(good);
    url.searchParams.set(name, value);
    return url;
  };
  await expect(begun.finish(change("state", "another"))).rejects.toThrow(/not the answer to the sign-in/);
  await expect(begun.finish(change("iss", "https://evil.example"))).rejects.toThrow(/another server/);
  const denied = change("error", "access_denied");
  denied.searchParams.delete("code");
  await expect(begun.finish(denied)).rejects.toThrow("the sign-in was refused (access_denied)");
  expect(await begun.finish(good)).toMatchObject({ accessToken: expect.stringMatching(/^at-/) });
  await expect(begun.finish(good)).rejects.toThrow(/was not accepted/);
});

test("An answer that does not say where it comes from is taken only from a server that never says it", async () => {
  const answer = async (metadata: Record<string, unknown>, isOpenIdProvider = false) => {
    const { begin, oauth } = await scene({ metadata, isOpenIdProvider });
    const begun = await begin();
    const returned = new URL(await oauth.agree(begun.url.href));
    returned.searchParams.delete("iss");
    return begun.finish(returned);
  };
  await expect(answer({})).rejects.toThrow(/does not say which server it comes from/);
  await expect(answer({}, true)).rejects.toThrow(/does not say which server it comes from/);
  expect(await answer({ authorization_response_iss_parameter_supported: false })).toMatchObject({
    accessToken: expect.stringMatching(/^at-/),
  });
});

test.each([
  ["nothing of PKCE", undefined],
  ["that it takes plain PKCE alone", ["plain"]],
])("A sign-in whose metadata say %s is not begun", async (_, methods) => {
  for (const isOpenIdProvider of [false, true]) {
    const { begin } = await scene({
      metadata: { code_challenge_methods_supported: methods },
      isOpenIdProvider,
    });
    await expect(begin()).rejects.toThrow(/^notes: .*code_challenge_methods_supported/);
  }
});

test.each(["authorization_endpoint", "token_endpoint", "registration_endpoint"])(
  "A sign-in whose %s is in clear is not begun",
  async (endpoint) => {
    const { begin } = await scene({ metadata: { [endpoint]: "http://service.example/there" } });
    await expect(begin()).rejects.toThrow("notes: its sign-in at service.example is not over https.");
  },
);

test.each(
  ["https://169.254.169.254", "https://localhost", "http://127.0.0.1:6379", "https://[::1]"].flatMap((host) =>
    ["registration_endpoint", "token_endpoint"].map((endpoint) => ({ host, endpoint })),
  ),
)("A server that names $host as its $endpoint has nothing sent there", async ({ host, endpoint }) => {
  const { signIn, store } = await scene({ metadata: { [endpoint]: `${host}/there` } });
  await expect(signIn()).rejects.toThrow(
    /^notes: .*(is at a private address|port 6379 of 127.0.0.1 is closed)/,
  );
  expect(await store.read("notes")).toBeUndefined();
});

test("A sign-in at a private host takes the operator's word for that very host, then and later", async () => {
  const elsewhere = await scene();
  const { port } = new URL(elsewhere.oauth.origin);
  const endpoints = { token_endpoint: `${elsewhere.oauth.origin}/token` };
  const refused = await scene({ metadata: endpoints });
  await expect(refused.signIn()).rejects.toThrow(`port ${port} of 127.0.0.1 is closed`);
  const allowed = await scene({ metadata: endpoints });
  // It is reached, and knows nothing of a code that the other one has given.
  await expect(allowed.signIn({ hosts: [`127.0.0.1:${port}`] })).rejects.toThrow(
    /was not accepted: (?!.*(closed|private))/,
  );
  await elsewhere.signIn({ hosts: ["sso.internal"] });
  expect(await elsewhere.store.read("notes")).toMatchObject({ hosts: ["sso.internal"] });
});

test("An account whose renewal leads to a private address sends no token there", async () => {
  const { signIn, store, oauth, open, problems } = await scene();
  await signIn();
  const account = await store.read("notes");
  if (!account) throw new Error("There is an account.");
  const metadata = { ...account.metadata, token_endpoint: "https://169.254.169.254/token" };
  await store.write("notes", { ...account, metadata });
  oauth.expireTokens();
  await (await open()).offer(signal);
  expect(problems.join("\n")).toContain("169.254.169.254 is at a private address");
});

test.each(
  ["/.well-known/oauth-authorization-server", "/register", "/token"].flatMap((path) =>
    (["silence", "redirect"] as const).map((how) => ({ path, how })),
  ),
)("A service that answers $path with $how ends the sign-in, and is followed nowhere", async (hostile) => {
  const { signIn, oauth, store } = await scene({ hostile });
  await expect(signIn()).rejects.toThrow(/^notes: /);
  expect(oauth.followed).toBe(0);
  expect(await store.read("notes")).toBeUndefined();
});

test.each(["/.well-known/oauth-authorization-server", "/register", "/token"])(
  "An answer of %s that never ends is not read on, and ends the sign-in",
  async (path) => {
    const { signIn, oauth, store } = await scene({ hostile: { path, how: "flood" } });
    await expect(signIn()).rejects.toThrow(/^notes: /);
    // What the limit lets through, and what lies in the buffers of both sides.
    expect(oauth.flooded).toBeLessThan(16 * 1_048_576);
    expect(await store.read("notes")).toBeUndefined();
  },
);

test("A server that names another's issuer is not signed in to", async () => {
  const { begin } = await scene({ metadata: { issuer: "https://accounts.example" } });
  await expect(begin()).rejects.toThrow(
    "notes: its sign-in names another issuer than the address that it was found at.",
  );
});

test("A server that wants tokens for another resource gets none", async () => {
  const { begin } = await scene({ resource: () => "https://bank.example/mcp" });
  await expect(begin()).rejects.toThrow(/names another resource \(https:\/\/bank\.example\/mcp\)/);
});

const folder = "/.well-known/oauth-protected-resource";

// RFC 9728, 3.3.
test.each([
  { named: "/mcp", at: `${folder}/mcp`, isTaken: true },
  { named: "/mcp", at: "/elsewhere.json", isTaken: true },
  { named: "/mcp", at: folder, isTaken: true },
  { named: "", at: folder, isTaken: true },
  { named: "", at: `${folder}/mcp`, isTaken: false },
  { named: "", at: "/elsewhere.json", isTaken: false },
  { named: "/m", at: `${folder}/mcp`, isTaken: false },
  { named: "/mcp/", at: `${folder}/mcp`, isTaken: false },
])("A resource “$named” counts by metadata at $at: $isTaken", async ({ named, at, isTaken }) => {
  const resource = (origin: string) => `${origin}${named}`;
  const { begin } = await scene({ resource, resourceMetadata: { path: at, isSaid: true } });
  if (isTaken) await begin();
  else await expect(begin()).rejects.toThrow("it names another resource");
});

test("A client asks for what a server that refuses it wants, and says what kind of program it is", async () => {
  const { begin, oauth } = await scene({ wants: "notes:read profile" });
  const { url } = await begin();
  expect(url.searchParams.get("scope")).toBe("notes:read profile");
  expect((await begin({ scope: "notes:write" })).url.searchParams.get("scope")).toBe("notes:write");
  expect(oauth.registrations[0]).toMatchObject({ client_name: "Heddle", application_type: "native" });
});

test.each([true, false])(
  "The address of its own document is the client's id where the server takes such ones: %s",
  async (isTaken) => {
    const { oauth } = await scene({ metadata: { client_id_metadata_document_supported: isTaken } });
    const server = { name: "notes", url: new URL(oauth.mcp) };
    const clientMetadataUrl = new URL("https://heddle.example/connect/client.json");
    const begun = await beginSignIn(server, { settings: {}, redirectUrl, clientMetadataUrl });
    expect(begun.url.searchParams.get("client_id") === clientMetadataUrl.href).toBe(isTaken);
    expect(oauth.registrations).toHaveLength(isTaken ? 0 : 1);
    const account = await begun.finish(new URL(await oauth.agree(begun.url.href)));
    expect(account.client.client_id === clientMetadataUrl.href).toBe(isTaken);
  },
);

test("What an account may not do is said, remembered, and asked for with the next sign-in beside what it had", async () => {
  const { store, oauth, open, redis } = await scene({ guarded: { tool: "echo", scope: "notes:write" } });
  const server = { name: "notes", url: new URL(oauth.mcp) };
  const signIn = async () => {
    const wanted = listWanted(await store.read("notes"));
    const begun = await beginSignIn(server, { settings: {}, redirectUrl, wanted });
    await store.write("notes", await begun.finish(new URL(await oauth.agree(begun.url.href))));
    return begun.url.searchParams.get("scope");
  };
  expect(await signIn()).toBe("notes");
  const call = async () => (await run(await toolNamed(await open(), "notes__echo"), { say: "a" })).text;
  expect(await call()).toContain(
    "its account there may not do this: heddle mcp login notes asks for what it lacks",
  );
  // Each writing seals it anew.
  const sealed = await redis.client().hget(keys.mcpAccounts, "notes");
  await call();
  expect(await redis.client().hget(keys.mcpAccounts, "notes")).toBe(sealed);
  expect(await signIn()).toBe("notes notes:write");
  expect(listWanted(await store.read("notes"))).toBeUndefined();
  expect(await call()).toBe("a");
});

test("In Redis an account is sealed for its server and its secret", async () => {
  const { signIn, store, redis, oauth } = await scene();
  await signIn();
  const client = redis.client();
  const sealed = (await client.hget(keys.mcpAccounts, "notes")) ?? "";
  const opened = Buffer.from(sealed, "base64").toString("latin1");
  for (const token of oauth.tokens) expect(`${sealed}${opened}`).not.toContain(token);
  expect(accountSchema.parse(await store.read("notes"))).toMatchObject({
    server: oauth.mcp,
  } satisfies Partial<Account>);
  await client.hset(keys.mcpAccounts, "other", sealed);
  await expect(store.read("other")).rejects.toThrow(UnreadableAccount);
  await expect(createAccountStore(client, `${secret}!`).read("notes")).rejects.toThrow(/HEDDLE_SEAL_KEY/);
  expect(await store.remove("notes")).toBe(true);
  expect(await store.read("notes")).toBeUndefined();
});

test("An account is not used at an address that it was not made for", async () => {
  const { signIn, store, open } = await scene();
  await signIn();
  const account = await store.read("notes");
  if (!account) throw new Error("There is an account.");
  await store.write("notes", { ...account, server: "https://elsewhere.example/mcp" });
  expect((await (await open()).offer(signal)).tools).toEqual([]);
});

test.each(["silence", "redirect", "flood"] as const)(
  "A service that answers a renewal with %s holds nobody up, and gets no refresh token elsewhere",
  async (how) => {
    const { signIn, oauth, store, problems } = await scene();
    await signIn();
    oauth.expireTokens();
    oauth.hush(how);
    const sign = createSignedFetch(fetch, {
      ...{ server: "notes", url: new URL(oauth.mcp), store, renewMs: 100 },
      ...{ onToken: () => {}, onProblem: (problem: string) => void problems.push(problem) },
    });
    expect((await sign(oauth.mcp, { method: "POST" })).status).toBe(401);
    expect(problems.join()).toMatch(/could not be renewed .*run heddle mcp login notes again/);
    expect(oauth.renewals).toBe(0);
    // The next process may try at once.
    expect(await store.renewAlone("notes", async () => {})).toBe("done");
  },
);

test("Who took too long to renew does not end the turn of the one who renews now", async () => {
  const { store, redis } = await scene();
  const client = redis.client();
  await store.renewAlone("notes", async () => {
    await client.set(keys.mcpRenewing("notes"), "another's");
  });
  expect(await client.get(keys.mcpRenewing("notes"))).toBe("another's");
});
