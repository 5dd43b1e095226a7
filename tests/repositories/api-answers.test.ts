import { generateKeyPairSync } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import { onTestFinished, expect, test } from "vitest";
import type { Token } from "../../src/repositories/credential.ts";
import { createAppCredential } from "../../src/repositories/github-app.ts";
import { createRepositories } from "../../src/repositories/repositories.ts";
import { closeServer, listen } from "../fakes/listen.ts";

/** What a host says instead of what it was asked for, in the forms of GitHub's and GitLab's documentation. */
const later = (seconds: number) => String(Math.floor(Date.now() / 1_000) + seconds);
const primary = {
  status: 403,
  headers: { "x-ratelimit-limit": "5000", "x-ratelimit-remaining": "0", "x-ratelimit-reset": later(1_500) },
  body: { message: "API rate limit exceeded for installation ID 51.", documentation_url: "https://docs" },
};
const secondary = {
  status: 403,
  headers: { "x-ratelimit-remaining": "4990" },
  body: {
    message: "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
  },
};
const asked = { status: 429, headers: { "retry-after": "150" }, body: { message: "Retry later" } };
const moved = {
  status: 307,
  headers: { location: "https://api.github.example/repositories/7/pulls" },
  body: { message: "Moved Permanently", url: "https://api.github.example/repositories/7/pulls" },
};
const suspended = { status: 403, headers: {}, body: { message: "This installation has been suspended" } };

async function startHost(said: { status: number; headers: Record<string, string>; body: object }) {
  const server = createServer((request, response: ServerResponse) => {
    request.resume();
    response
      .writeHead(said.status, { "content-type": "application/json", ...said.headers })
      .end(JSON.stringify(said.body));
  });
  const port = await listen(server, "127.0.0.1");
  onTestFinished(() => closeServer(server));
  return `http://127.0.0.1:${port}`;
}

async function openAt(origin: string, token: () => Promise<Token> = async () => ({ ok: true, value: "t" })) {
  const repositories = createRepositories({
    settings: { shop: { push: "ask", url: `${origin}/acme/shop`, kind: "github" } },
    namesOf: () => ["shop"],
    credentialOf: () => ({ token }),
    remember: async () => {},
    now: () => 1,
  });
  const access = repositories.open("slack:T1:C1:1.5", () => ({ id: "U1", name: "Ada" }));
  const [repository] = access?.list ?? [];
  if (!access || !repository) throw new Error("no repository");
  const proposal = { branch: "heddle/1-x", base: "main", title: "Hello", body: "World", draft: false };
  return await access.openPullRequest(repository, proposal, new AbortController().signal);
}

test.each([
  ["GitHub's hourly limit", primary, /^127\.\S+ has had too many requests; it takes more in 25 minutes\.$/],
  ["GitHub's secondary limit", secondary, /it takes more in 1 minute\.$/],
  ["a host that says when", asked, /it takes more in 3 minutes\.$/],
])("%s is told as one that passes, with its time", async (_name, said, message) => {
  const origin = await startHost(said);
  expect(await openAt(origin)).toEqual({ ok: false, outage: true, message: expect.stringMatching(message) });
  expect(await tokenAt(origin)).toMatch(/has had too many requests; it takes more in \d+ minutes?$/);
});

test("a repository that was renamed is told as moved, with and without an App", async () => {
  const origin = await startHost(moved);
  expect(await openAt(origin)).toMatchObject({
    ok: false,
    message: expect.stringMatching(
      /has moved \(307\); ask the operator to correct its url in repositories\.$/,
    ),
  });
  expect(await tokenAt(origin)).toMatch(/has moved \(307\); ask the operator/);
});

test("what GitHub says of an App that gets no token is told", async () => {
  expect(await tokenAt(await startHost(suspended))).toMatch(
    /gave no token for acme\/shop \(403: This installation has been suspended\)$/,
  );
});

test("an answer without an end is read only to what is taken", async () => {
  let sent = 0;
  const closed = Promise.withResolvers<void>();
  const server = createServer((_request, response: ServerResponse) => {
    response.writeHead(200, { "content-type": "application/json" });
    const chunk = Buffer.alloc(65_536, " ");
    const send = () => {
      // Unless it is cut, it ends by itself some time.
      if (sent >= 64_000_000) return void response.end();
      sent += chunk.length;
      response.write(chunk, (error) => (error ? closed.resolve() : setImmediate(send)));
    };
    response.on("close", closed.resolve);
    send();
  });
  const port = await listen(server, "127.0.0.1");
  onTestFinished(() => closeServer(server));
  expect(await openAt(`http://127.0.0.1:${port}`)).toMatchObject({ ok: false });
  await closed.promise;
  expect(sent).toBeLessThan(32_000_000);
});

test("where there is no token, its reason is told and not that the host refused it", async () => {
  const origin = await startHost(asked);
  expect(await openAt(origin, async () => ({ ok: false, reason: "the App is not installed" }))).toEqual({
    ok: false,
    message: "the App is not installed.",
  });
});

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });

async function tokenAt(origin: string): Promise<string> {
  const credential = createAppCredential({
    readApp: async () => ({ ok: true, app: { clientId: "Iv23heddle", privateKey } }),
    place: { api: origin, owner: "acme", name: "shop" },
    now: Date.now,
    onToken: () => {},
  });
  const token = await credential.token();
  return token.ok ? "a token" : token.reason;
}
