import type { IncomingHttpHeaders } from "node:http";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { signInCallbackPath } from "../../../src/adapters/console/server/origin.ts";
import type { OpenIdOptions } from "../../../src/adapters/console/server/sign-in-routes.ts";
import { endSignInsOf } from "../../../src/operations/people/sign-ins.ts";
import { clientId, clientSecret, type FakeOpenId, startFakeOpenId } from "../../fakes/open-id.ts";
import { freePort } from "../../fakes/free-port.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { call, openStream } from "./requests.ts";
import { type ConsoleSettings, startConsole, type TestConsole } from "./start-console.ts";

/** Signing in by OpenID Connect, at a provider that refuses what real ones refuse, and at one that lies. */

let redis: TestRedis;
let port: number;
let address: string;
let provider: FakeOpenId;
const ada = {
  sub: "248289761001",
  email: "ada@example.com",
  email_verified: true,
  groups: ["staff", "heddle"],
};

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(async () => {
  port = await freePort();
  address = `http://127.0.0.1:${port}`;
  provider = await startFakeOpenId([`${address}${signInCallbackPath}`], [`${address}/`]);
  provider.person = ada;
});
afterEach(() => provider[Symbol.asyncDispose]());

const open = async (openId: Partial<OpenIdOptions> = {}, settings: ConsoleSettings = {}) =>
  startConsole({
    ...{ redis, port, recheckMs: 20 },
    openId: {
      ...{ issuer: provider.issuer, clientId, clientSecret, address },
      ...{ scopes: ["openid", "email"], nameClaim: "email", groupsClaim: "groups", stepMs: 1_000 },
      roles: { people: { "ada@example.com": "operator" }, groups: {} },
      ...openId,
    },
    ...settings,
  });

const wellKnown = "/.well-known/openid-configuration";

/** What the browser has been given, to be sent back. */
const cookieOf = (headers: IncomingHttpHeaders) => headers["set-cookie"]?.[0]?.split(";")[0] ?? "";

const begin = async (console: TestConsole) => {
  const begun = await call(console.url, "/sign-in");
  expect(begun.status).toBe(303);
  return { location: begun.headers.location ?? "", cookie: cookieOf(begun.headers) };
};

const comeBack = async (console: TestConsole, back: URL, cookie: string) => {
  const navigation = {
    "sec-fetch-site": "cross-site",
    "sec-fetch-mode": "navigate",
    "sec-fetch-dest": "document",
  };
  const answer = await call(console.url, `${back.pathname}${back.search}`, {
    headers: { cookie, ...navigation },
  });
  return { ...answer, to: answer.headers.location, cookie: cookieOf(answer.headers) };
};

const signIn = async (console: TestConsole) => {
  const { location, cookie } = await begin(console);
  return await comeBack(console, await provider.agree(location), cookie);
};

const me = async (console: TestConsole, headers: Record<string, string> = {}) => {
  const answer = await call(console.url, "/api/v1/status", { headers });
  return answer.status === 200 ? (answer.json() as { me: unknown }).me : answer.status;
};

describe("somebody whom the provider knows", () => {
  test("is themselves, by a cookie that no script reads, and the audit log is told", async () => {
    await using console = await open();
    const done = await signIn(console);
    expect(done).toMatchObject({ status: 303, to: "/#/" });
    expect(done.headers["set-cookie"]?.[0]).toMatch(
      /^heddle_console=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=43200$/,
    );
    expect(await me(console, { cookie: done.cookie })).toMatchObject({
      id: "@ada@example.com",
      role: "operator",
      byCookie: true,
    });
    expect(console.signedIn).toEqual([{ id: "@ada@example.com", name: "ada@example.com" }]);
    const said = await call(console.url, "/api/threads/abcdefgh12345678/messages", {
      ...{ method: "POST", headers: { cookie: done.cookie }, json: { text: "Hello", key: "by-provider" } },
    });
    expect(said.status).toBe(200);
    expect(console.intake.events).toMatchObject([
      { author: { id: "@ada@example.com", standing: "operator" } },
    ]);
    expect([console.errors, console.warnings]).toEqual([[], []]);
  });

  test("carries cookies over https only where the console is opened so", async () => {
    provider = await restartFor("https://heddle.example.com");
    await using console = await open({ address: "https://heddle.example.com" });
    const begun = await call(console.url, "/sign-in");
    expect(begun.headers["set-cookie"]?.[0]).toMatch(
      /^heddle_sign_in=\S+; HttpOnly; SameSite=Lax; Path=\/sign-in; Max-Age=600; Secure$/,
    );
    const back = await provider.agree(begun.headers.location ?? "");
    expect(back.href).toMatch(/^https:\/\/heddle\.example\.com\/sign-in\/callback\?/);
    const done = await comeBack(console, back, cookieOf(begun.headers));
    expect(done.headers["set-cookie"]?.[0]).toMatch(/; Secure$/);
  });

  test("signs out of one browser, whose open streams end", async () => {
    await using console = await open();
    const [{ cookie }, other] = [await signIn(console), await signIn(console)];
    using page = await openStream(console.url, "/api/v1/events", { cookie });
    await page.next("threads");
    const ended = await call(console.url, "/api/v1/session/end", { method: "POST", headers: { cookie } });
    expect(ended.status).toBe(204);
    expect(await me(console, { cookie })).toBe(401);
    await expect(page.next("never")).rejects.toThrow(/ended|aborted/);
    expect(await me(console, { cookie: other.cookie })).toMatchObject({ role: "operator" });
  });

  test("is signed out at the provider too, which is shown its own token and sends them back", async () => {
    await using console = await open();
    const done = await signIn(console);
    const [hint = ""] = done.headers["set-cookie"]?.filter((one) => one.startsWith("heddle_sign_out=")) ?? [];
    expect(hint).toMatch(
      /^heddle_sign_out=\S+; HttpOnly; SameSite=Strict; Path=\/sign-in\/end; Max-Age=43200$/,
    );
    // Nothing of the token can be read of it, nor has Redis anything.
    expect(hint).not.toContain(".eyJ");
    expect(await me(console, { cookie: done.cookie })).toMatchObject({ signOutAt: "/sign-in/end" });
    await call(console.url, "/api/v1/session/end", { method: "POST", headers: { cookie: done.cookie } });

    const cookie = hint.split(";")[0] ?? "";
    const left = await call(console.url, "/sign-in/end", { headers: { cookie } });
    expect(left.headers["set-cookie"]?.[0]).toMatch(/^heddle_sign_out=; .*Path=\/sign-in\/end; Max-Age=0$/);
    const there = await fetch(String(left.headers.location), { redirect: "manual" });
    expect([there.status, there.headers.get("location")]).toEqual([303, `${address}/`]);
    expect(provider.signedOut).toEqual(["by token"]);
    // Without the cookie, or with another's, the provider asks the person.
    for (const strange of ["", "heddle_sign_out=c3RyYW5nZQ"]) {
      const asked = await call(console.url, "/sign-in/end", { headers: { cookie: strange } });
      const query = new URL(String(asked.headers.location)).searchParams;
      expect(Object.fromEntries(query)).toEqual({
        client_id: clientId,
        post_logout_redirect_uri: `${address}/`,
      });
    }
    expect([console.errors, console.warnings]).toEqual([[], []]);
  });

  test("is asked by the provider where their token is too long for a cookie", async () => {
    provider.person = { ...ada, groups: Array.from({ length: 400 }, (_, n) => `group-${n}`) };
    await using console = await open();
    const done = await signIn(console);
    expect(done).toMatchObject({ status: 303, to: "/#/" });
    expect(done.headers["set-cookie"]).toHaveLength(1);
  });

  test.each([
    ["names no address for that", { keepsSignedIn: true }, []],
    ["does not answer", { hostile: { path: wellKnown, how: "silence" } }, ["unreachable"]],
    [
      "names what is no address of the web",
      { metadata: { end_session_endpoint: "javascript:1" } },
      ["invalid"],
    ],
  ] as const)("is signed out here also where the provider %s", async (_, faults, kinds) => {
    await using signedIn = await open();
    const { cookie } = await signIn(signedIn);
    await signedIn[Symbol.asyncDispose]();
    // One that has not asked the provider yet.
    provider.faults = faults;
    await using console = await open({ stepMs: 200 });
    await call(console.url, "/api/v1/session/end", { method: "POST", headers: { cookie } });
    expect(await me(console, { cookie })).toBe(401);
    const left = await call(console.url, "/sign-in/end");
    expect([left.status, left.headers.location]).toEqual([303, "/"]);
    expect(console.warnings).toHaveLength(kinds.length);
    for (const kind of kinds) expect(JSON.stringify(console.warnings)).toContain(kind);
  });

  test("is not sent to the provider's sign-out by another site", async () => {
    await using console = await open();
    const headers = {
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document",
    };
    expect((await call(console.url, "/sign-in/end", { headers })).status).toBe(403);
    expect(provider.asked).toEqual([]);
  });

  test("is out of every browser when they are forgotten", async () => {
    await using console = await open();
    const cookies = [(await signIn(console)).cookie, (await signIn(console)).cookie];
    expect(await endSignInsOf(redis.client(), "ada@example.com")).toBeGreaterThanOrEqual(2);
    for (const cookie of cookies) expect(await me(console, { cookie })).toBe(401);
  });

  test("has the role of the settings of today, and none by a provider that is no longer theirs", async () => {
    let cookie: string;
    {
      await using console = await open();
      ({ cookie } = await signIn(console));
    }
    {
      await using console = await open({ roles: { people: { "ada@example.com": "viewer" }, groups: {} } });
      expect(await me(console, { cookie })).toMatchObject({ role: "viewer" });
    }
    {
      await using console = await open({ roles: { people: {}, groups: {} } });
      expect(await me(console, { cookie })).toBe(401);
    }
    await using console = await open({ clientId: "another" });
    expect(await me(console, { cookie })).toBe(401);
  });

  test("is sent to the provider that takes the secret in the body too", async () => {
    provider.faults = { takesSecretInBody: true };
    await using console = await open();
    expect(await me(console, { cookie: (await signIn(console)).cookie })).toMatchObject({ role: "operator" });
  });
});

describe("the role", () => {
  const groups = { heddle: "member", "heddle-admins": "operator", "*": "operator" } as const;
  test.each([
    ["by group, of which those without a meaning are not kept", { groups: ["staff", "heddle"] }, "member"],
    ["the highest of several groups", { groups: ["heddle", "heddle-admins"] }, "operator"],
    ["by the only group, told as a text", { groups: "heddle" }, "member"],
    ["by name, whatever the groups say", { email: "bob@example.com", groups: ["heddle-admins"] }, "viewer"],
    ["none for strangers", { groups: ["staff", "__proto__", "*x"] }, undefined],
    ["none for those in no group", { groups: undefined }, undefined],
    ["none for a name that objects have", { email: "__proto__", groups: [] }, undefined],
  ])("is %s", async (_, claims, role) => {
    provider.person = { ...ada, ...claims };
    await using console = await open({ roles: { people: { "bob@example.com": "viewer" }, groups } });
    const done = await signIn(console);
    if (role === undefined) {
      expect([done.to, done.cookie, console.signedIn]).toEqual(["/#sign-in=unknown", "", []]);
      return;
    }
    expect(await me(console, { cookie: done.cookie })).toMatchObject({ role });
    for (const key of await redis.client().keys("heddle:signed-in:*"))
      expect(await redis.client().get(key)).not.toContain("staff");
  });

  test("is told by the provider's address for it where the token leaves it out, of the same person only", async () => {
    provider.faults = { onlyInUserInfo: ["email", "email_verified", "groups"] };
    await using console = await open({ roles: { people: {}, groups: { heddle: "member" } } });
    expect(await me(console, { cookie: (await signIn(console)).cookie })).toMatchObject({ role: "member" });
    provider.faults = { ...provider.faults, userInfoSubject: "somebody-else" };
    expect((await signIn(console)).to).toBe("/#sign-in=invalid");
  });

  test.each([
    ["whose address nobody has verified", { email_verified: false }],
    ["of whose address it is not said", { email_verified: undefined }],
    ["without that claim", { email: undefined }],
    ["whose name is two", { email: "ada@example.com,bob@example.com" }],
    ["whose name cannot be seen", { email: "ada@example.com\u0007" }],
    ["whose name is no text", { email: ["ada@example.com"] }],
  ])("is none for somebody %s", async (_, claims) => {
    provider.person = { ...ada, ...claims };
    await using console = await open({ roles: { people: { "*": "operator" }, groups: {} } });
    expect((await signIn(console)).to).toBe("/#sign-in=invalid");
    expect(console.signedIn).toEqual([]);
  });
});

describe("nobody is let in", () => {
  const refused = async (console: TestConsole, to: string) => {
    const done = await signIn(console);
    expect([done.to, done.cookie]).toEqual([`/#sign-in=${to}`, ""]);
    expect(console.signedIn).toEqual([]);
    expect(console.errors).toEqual([]);
  };
  const past = Math.floor(Date.now() / 1_000) - 3_600;

  test.each([
    ["for another client", { claims: { aud: "another" } }],
    [
      "for several clients, and made out to another",
      { claims: { aud: [clientId, "another"], azp: "another" } },
    ],
    ["that has expired", { claims: { iat: past, exp: past + 300 } }],
    ["without an end", { claims: { exp: undefined } }],
    ["of another issuer", { claims: { iss: "https://evil.example" } }],
    ["of another sign-in", { claims: { nonce: "another" } }],
    ["of no sign-in", { claims: { nonce: undefined } }],
    ["of nobody", { claims: { sub: undefined } }],
    ["that says it is not signed", { header: { alg: "none" }, signature: "none" as const }],
    [
      "that is not signed, by a provider that says it does so",
      {
        ...{ header: { alg: "none" }, signature: "none" as const },
        metadata: { id_token_signing_alg_values_supported: ["none", "RS256"] },
      },
    ],
    ["signed with the client's secret", { header: { alg: "HS256" } }],
    ["without its signature", { signature: "none" as const }],
    ["signed by somebody else", { signature: "stranger" as const }],
    ["signed with a key that it does not publish", { header: { kid: "2" } }],
  ])("by a token %s", async (_, faults) => {
    provider.faults = faults;
    await using console = await open();
    await refused(console, "invalid");
    expect(console.warnings).toHaveLength(1);
    expect(JSON.stringify(console.warnings)).not.toMatch(/eyJ|ada@/);
  });

  test.each([
    ["of another provider (RFC 9207)", { iss: "https://evil.example" }, "invalid"],
    ["without a word of which provider it is, though it promises one", { iss: "" }, "invalid"],
    ["with a code of somebody else's", { code: "stolen" }, "invalid"],
    ["of another sign-in", { state: "another" }, "stale"],
    ["that is a refusal", { error: "access_denied" }, "declined"],
    [
      "that is a refusal of another provider",
      { error: "access_denied", iss: "https://evil.example" },
      "invalid",
    ],
  ])("by an answer %s", async (_, answer, to) => {
    provider.faults = { answer };
    await using console = await open();
    await refused(console, to);
  });

  test("with a code that was used, in another browser, or too late", async () => {
    await using console = await open();
    const { location, cookie } = await begin(console);
    const back = await provider.agree(location);
    expect((await comeBack(console, back, "")).to).toBe("/#sign-in=stale");
    const { cookie: ofAnother } = await begin(console);
    expect((await comeBack(console, back, ofAnother)).to).toBe("/#sign-in=stale");
    expect((await comeBack(console, back, `${cookie.slice(0, -6)}AAAAAA`)).to).toBe("/#sign-in=stale");
    expect((await comeBack(console, back, cookie)).to).toBe("/#/");
    expect((await comeBack(console, back, cookie)).to).toBe("/#sign-in=invalid");
    expect(console.signedIn).toHaveLength(1);
  });

  test("with a code of another redirect or verifier", async () => {
    await using console = await open();
    const { location, cookie } = await begin(console);
    const changed = new URL(location);
    changed.searchParams.set("redirect_uri", "https://evil.example/");
    await expect(provider.agree(changed.href)).rejects.toThrow("Unknown client or redirect_uri");
    changed.search = new URL(location).search;
    changed.searchParams.set("code_challenge", "A".repeat(43));
    expect((await comeBack(console, await provider.agree(changed.href), cookie)).to).toBe(
      "/#sign-in=invalid",
    );
  });

  test("after ten attempts in a minute, which the provider no longer hears of", async () => {
    provider.faults = { answer: { code: "guess" } };
    await using console = await open();
    for (const _ of Array(10)) expect((await signIn(console)).to).toBe("/#sign-in=invalid");
    const before = provider.asked.filter((one) => one === "POST /token").length;
    expect((await signIn(console)).to).toBe("/#sign-in=too-many");
    expect(provider.asked.filter((one) => one === "POST /token")).toHaveLength(before);
  });

  test("as the operator for want of a name, and a token of one's own still does", async () => {
    await using console = await open({}, { token: "correct-horse-battery" });
    expect((await call(console.url, "/api/v1/status")).json()).toEqual({
      error: expect.stringContaining("Sign in with your account"),
      signIn: "/sign-in",
    });
    expect(await me(console, { authorization: "Bearer correct-horse-battery" })).toMatchObject({
      id: "console",
    });
    await console[Symbol.asyncDispose]();
    await using open1 = await open();
    expect(await me(open1)).toBe(401);
    expect(await me(open1, { authorization: "Bearer guess" })).toBe(401);
  });
});

describe("a provider", () => {
  const steps = ["/.well-known/openid-configuration", "/token", "/keys"];
  const hostile = steps.flatMap((path) =>
    (["silence", "flood", "redirect"] as const).map((how) => ({ path, how })),
  );

  test.each(hostile)("that is hostile at $path ($how) holds nobody up, and is asked again", async (fault) => {
    provider.faults = { hostile: fault };
    await using console = await open({ stepMs: 300 });
    const isDiscovery = fault.path.startsWith("/.well-known");
    const first = isDiscovery ? await call(console.url, "/sign-in") : await signIn(console);
    expect(first.headers.location).toBe(`/#sign-in=${fault.how === "redirect" ? "invalid" : "unreachable"}`);
    expect(provider.asked).not.toContain("GET /elsewhere");
    provider.faults = {};
    expect((await signIn(console)).to).toBe("/#/");
    expect(console.errors).toEqual([]);
  });

  test("that says it is another one is not believed", async () => {
    provider.faults = { metadata: { issuer: "https://evil.example" } };
    await using console = await open();
    expect((await call(console.url, "/sign-in")).headers.location).toBe("/#sign-in=invalid");
  });

  test("is asked once what it is, however many come", async () => {
    await using console = await open();
    await Promise.all(Array.from({ length: 20 }, () => begin(console)));
    expect(provider.asked).toEqual(["GET /.well-known/openid-configuration"]);
  });

  test("is at no address of a console that names none", async () => {
    await using console = await startConsole({ redis });
    for (const path of ["/sign-in", signInCallbackPath])
      expect((await call(console.url, path)).status).toBe(404);
  });
});

async function restartFor(origin: string): Promise<FakeOpenId> {
  await provider[Symbol.asyncDispose]();
  const started = await startFakeOpenId([`${origin}${signInCallbackPath}`]);
  started.person = ada;
  return started;
}
