import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Account } from "../../../src/agent/contracts/mcp-account.ts";
import { beginSignIn } from "../../../src/agent/mcp/sign-in/sign-in.ts";
import { keys } from "../../../src/queue/redis/keys.ts";
import { createAccountStore } from "../../../src/queue/stores/mcp-accounts.ts";
import { startHttpFixture } from "../../agent/mcp/servers/http.ts";
import { freePort } from "../../fakes/free-port.ts";
import { startFakeOAuth } from "../../fakes/oauth.ts";
import { startProxy } from "../../fakes/proxy.ts";
import { useSetting } from "../hooks.ts";

const here = useSetting();
const sealKey = "a secret of more than thirty-two letters";
const heddle = (args: string[]) =>
  here.place.start(args, { REDIS_URL: here.redis.path, HEDDLE_SEAL_KEY: sealKey });

test("heddle mcp login signs the installation in, and logout out again, without a token on the screen", async () => {
  const fixture = await startHttpFixture("http");
  onTestFinished(() => fixture.stop());
  const oauth = await startFakeOAuth({ upstream: fixture.url });
  onTestFinished(() => oauth.close());
  const servers = { notes: { url: oauth.mcp, signIn: true }, plain: { url: fixture.url } };
  await writeFile(join(here.place.folder, "mcp.json"), JSON.stringify({ mcpServers: servers }));

  const port = await freePort();
  const login = heddle(["mcp", "login", "notes", "--port", String(port)]);
  const address = (await login.line(/\/authorize\?/)).trim();
  expect((await fetch(`http://127.0.0.1:${port}/elsewhere`)).status).toBe(404);
  // Any page that the browser shows can ask for this.
  for (const forged of ["?code=c&state=another", "?error=access_denied", ""])
    expect((await fetch(`http://127.0.0.1:${port}/callback${forged}`)).status).toBe(400);
  const page = await fetch(await oauth.agree(address));
  expect(await page.text()).toContain("Heddle has the answer");
  expect(await login.ended).toBe(0);
  expect(login.output()).toContain("Signed in to notes (notes).");

  const list = heddle(["mcp", "list"]);
  expect(await list.ended).toBe(0);
  expect(list.output()).toMatch(/^notes {2}127\.0\.0\.1:\d+ {2}signed in$/m);
  const doctor = heddle(["doctor"]);
  await doctor.ended;
  expect(doctor.output()).toMatch(/✓ mcp {7}notes: ready, \d+ tools/);
  const [logout, wrong] = [heddle(["mcp", "logout", "notes"]), heddle(["mcp", "login", "plain"])];
  expect(await logout.ended).toBe(0);
  expect(logout.output()).toContain("Signed out of notes.");
  expect(await wrong.ended).toBe(2);
  expect(wrong.output()).toContain('Put "signIn": true into the entry of plain in');
  for (const { output } of [login, list, doctor, logout])
    for (const token of oauth.tokens) expect(output()).not.toContain(token);
});

test("A sign-in that has ended does not come back with a token that a worker is just renewing", async () => {
  const servers = { notes: { url: "http://127.0.0.1:9/mcp", signIn: true } };
  await writeFile(join(here.place.folder, "mcp.json"), JSON.stringify({ mcpServers: servers }));
  const redis = here.redis.client();
  const accounts = createAccountStore(redis, sealKey);
  const account: Account = {
    ...{ version: 1, server: servers.notes.url, issuer: "http://127.0.0.1:9", accessToken: "old" },
    client: { client_id: "heddle" },
  };
  await accounts.write("notes", account);
  const monitor = await redis.monitor();
  onTestFinished(() => monitor.disconnect());
  const touched = Promise.withResolvers<void>();
  let ended: Promise<number | string> | undefined;
  await accounts.renewAlone("notes", async () => {
    monitor.on("monitor", (_time: string, sent: string[]) => {
      if (sent.some((word) => [keys.mcpAccounts, keys.mcpRenewing("notes")].includes(word)))
        touched.resolve();
    });
    const logout = heddle(["mcp", "logout", "notes"]);
    await touched.promise;
    await accounts.write("notes", { ...account, accessToken: "new" });
    ended = logout.ended;
  });
  expect(await ended).toBe(0);
  expect(await accounts.read("notes")).toBeUndefined();
});

test("heddle mcp list tells all servers, also where an account was stored with another key", async () => {
  const url = "http://127.0.0.1:9/mcp";
  const servers = { notes: { url, signIn: true }, plain: { url } };
  await writeFile(join(here.place.folder, "mcp.json"), JSON.stringify({ mcpServers: servers }));
  const account: Account = {
    ...{ version: 1, server: url, issuer: "http://127.0.0.1:9", accessToken: "a" },
    client: { client_id: "heddle" },
  };
  await createAccountStore(here.redis.client(), `another ${sealKey}`).write("notes", account);
  const list = heddle(["mcp", "list"]);
  expect(await list.ended).toBe(0);
  expect(list.output()).toMatch(/^notes {2}127\.0\.0\.1:9 {2}.*cannot be read with this HEDDLE_SEAL_KEY/m);
  expect(list.output()).toMatch(/^plain {2}127\.0\.0\.1:9 {2}no sign-in$/m);
});

test("What a server calls its tools, or says of its sign-in, does not steer the terminal", async () => {
  const order = "\u001B]0;owned\u0007";
  const more = [{ name: `${order}a\n✓ mcp       all is well`, inputSchema: { type: "string" } }];
  const fixture = await startHttpFixture("http", 0, { more: more as never });
  onTestFinished(() => fixture.stop());
  const oauth = await startFakeOAuth({
    upstream: fixture.url,
    resource: () => `https://bank.example/${order}`,
  });
  onTestFinished(() => oauth.close());
  const servers = { plain: { url: fixture.url }, notes: { url: oauth.mcp, signIn: true } };
  await writeFile(join(here.place.folder, "mcp.json"), JSON.stringify({ mcpServers: servers }));
  const [doctor, login] = [heddle(["doctor"]), heddle(["mcp", "login", "notes"])];
  await doctor.ended;
  expect(doctor.output()).toContain("has no valid definition");
  expect(doctor.output()).not.toMatch(/^✓ mcp +all is well/m);
  expect(await login.ended).toBe(1);
  expect(login.output()).toContain("it names another resource (https://bank.example/");
  expect(doctor.output() + login.output()).not.toContain("\u001B");
});

test("heddle mcp login asks through the environment's proxy, which does not lead it to private addresses either", async () => {
  const fixture = await startHttpFixture("http");
  const [oauth, hostile, proxy] = await Promise.all([
    startFakeOAuth({ upstream: fixture.url }),
    startFakeOAuth({
      upstream: fixture.url,
      metadata: { registration_endpoint: "https://169.254.169.254/register" },
    }),
    startProxy(),
  ]);
  onTestFinished(async () => {
    await Promise.all([oauth.close(), hostile.close(), proxy.close(), fixture.stop()]);
  });
  const servers = { notes: { url: oauth.mcp, signIn: true }, odd: { url: hostile.mcp, signIn: true } };
  await writeFile(join(here.place.folder, "mcp.json"), JSON.stringify({ mcpServers: servers }));
  const login = async (server: string) =>
    here.place.start(["mcp", "login", server, "--port", String(await freePort())], {
      ...{ REDIS_URL: here.redis.path, HEDDLE_SEAL_KEY: sealKey },
      // Set by hand, so that this machine is asked through it, too.
      ...{ NODE_USE_ENV_PROXY: "1", HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url },
    });
  const good = await login("notes");
  const address = (await good.line(/\/authorize\?/)).trim();
  await fetch(await oauth.agree(address));
  expect(await good.ended).toBe(0);
  expect(proxy.asked).toContain("GET 127.0.0.1");
  expect(proxy.asked.filter((line) => line === "POST 127.0.0.1").length).toBeGreaterThanOrEqual(3);
  const bad = await login("odd");
  expect(await bad.ended).not.toBe(0);
  expect(bad.output()).toContain("169.254.169.254 is at a private address");
  expect(proxy.asked.join()).not.toContain("169.254");
});

test("heddle mcp accounts lists what people have connected, and disconnect ends one of them", async () => {
  const fixture = await startHttpFixture("http");
  onTestFinished(() => fixture.stop());
  const oauth = await startFakeOAuth({ upstream: fixture.url });
  onTestFinished(() => oauth.close());
  const servers = { people: { url: oauth.mcp, signIn: { accounts: "person" } } };
  await writeFile(join(here.place.folder, "mcp.json"), JSON.stringify({ mcpServers: servers }));
  const none = heddle(["mcp", "accounts"]);
  expect(await none.ended).toBe(0);
  expect(none.output()).toContain("Nobody has connected an account.");

  const accounts = createAccountStore(here.redis.client(), sealKey);
  for (const person of ["slack:T1:U1", "slack:T1:U2"]) {
    const redirectUrl = new URL("http://127.0.0.1:8421/callback");
    const begun = await beginSignIn(
      { name: "people", url: new URL(oauth.mcp) },
      { settings: {}, redirectUrl },
    );
    await accounts.of(person).write("people", await begun.finish(new URL(await oauth.agree(begun.url.href))));
  }
  const all = heddle(["mcp", "accounts"]);
  expect(await all.ended).toBe(0);
  expect(all.output()).toContain("people  slack:T1:U1\npeople  slack:T1:U2");
  const list = heddle(["mcp", "list"]);
  expect(await list.ended).toBe(0);
  expect(list.output()).toContain("each person's own account: 2 connected");
  const [end, again, login] = [
    heddle(["mcp", "disconnect", "people", "slack:T1:U1"]),
    heddle(["mcp", "disconnect", "people", "slack:T1:U3"]),
    heddle(["mcp", "login", "people"]),
  ];
  expect(await end.ended).toBe(0);
  expect(end.output()).toContain("Disconnected slack:T1:U1 from people.");
  expect(await again.ended).toBe(2);
  expect(again.output()).toContain("slack:T1:U3 has no account at people");
  expect(await login.ended).toBe(2);
  expect(login.output()).toContain("each person connects an account of their own");
  expect(await accounts.list()).toEqual([{ server: "people", person: "slack:T1:U2" }]);
  for (const { output } of [all, list, end])
    for (const token of oauth.tokens) expect(output()).not.toContain(token);
});
