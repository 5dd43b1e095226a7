import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import type { GithubAppForm } from "../../../src/adapters/console/github-app.ts";
import { openRepositories } from "../../../src/app/repositories/repositories.ts";
import { environmentSchema } from "../../../src/config/environment.ts";
import { settingsSchema } from "../../../src/config/schema.ts";
import { createAccessTokens } from "../../../src/operations/people/access-tokens.ts";
import { type FakeGithub, startGithub } from "../../fakes/github.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { call } from "./requests.ts";
import { type ConsoleSettings, startConsole, type TestConsole } from "./start-console.ts";

/** Registering a GitHub App: what is refused, and what is left behind. tests/e2e/github-app.test.ts plays it in a browser. */

const hour = 3_600_000;
const own = "correct-horse-battery";
let redis: TestRedis;
let github: FakeGithub;
let time = Date.parse("2026-11-26T09:00:00Z");
beforeAll(async () => {
  redis = await startRedis();
  github = await startGithub({ now: () => time });
  github.addRepository("acme/shop");
});
afterAll(async () => {
  await github.close();
  await redis.stop();
});
beforeEach(async () => {
  // What waits for an hour waits in Redis's own time.
  time = Date.now();
  await redis.client().flushall();
});

const seal = { HEDDLE_SEAL_KEY: "0123456789abcdef0123456789abcdef" };
const settingsOf = () => ({ githubApp: { url: "http://localhost", apiUrl: github.origin } });

async function open(environment: Record<string, string> = {}, more: ConsoleSettings = {}) {
  const settings = { githubApp: { url: github.origin, apiUrl: github.origin } };
  const githubApp = { settings, environment: { ...seal, ...environment }, now: () => time };
  const console = await startConsole({ redis, token: own, githubApp, ...more });
  onTestFinished(() => console[Symbol.asyncDispose]());
  return console;
}

const person = async (name: string, role: "operator" | "viewer" = "operator") =>
  (await createAccessTokens(redis.client(), Date.now).create({ name, role })).token;

async function post(console: TestConsole, what: string, json: object = {}, token = own) {
  const { host, origin } = new URL(console.url);
  const headers = { authorization: `Bearer ${token}`, host, origin };
  return await call(console.url, `/api/v1/github-app/${what}`, { method: "POST", headers, json });
}

/** What GitHub does with the form, after somebody has pressed the button there. */
async function createThere(form: GithubAppForm, name = `heddle-${Math.random()}`.slice(0, 30)) {
  const headers = { "user-agent": "browser" };
  const shown = await fetch(form.action, {
    ...{ method: "POST", headers, body: new URLSearchParams({ manifest: form.manifest }) },
  });
  const state = new URL(form.action).searchParams.get("state") ?? "";
  const body = new URLSearchParams({ name, state, manifest: form.manifest });
  const to = form.action.replace(/\/new\?.*/, "");
  const made = await fetch(to, { method: "POST", headers, body, redirect: "manual" });
  const back = URL.parse(made.headers.get("location") ?? "");
  const read = (key: string) => back?.searchParams.get(key) ?? "";
  return { page: await shown.text(), text: await made.text(), code: read("code"), state: read("state") };
}

const finish = (console: TestConsole, { code, state }: { code: string; state: string }, token = own) =>
  post(console, "finish", { code, state }, token);

async function begin(console: TestConsole, wanted: object = {}, token = own): Promise<GithubAppForm> {
  const answer = await post(console, "begin", wanted, token);
  expect(answer.status).toBe(201);
  return answer.json() as GithubAppForm;
}

test("a code counts once, for who has begun, with the state of here, and within the hour", async () => {
  const console = await open();
  const [ada, bob] = [await person("ada"), await person("bob")];
  const refused = async (answer: { code: string; state: string }, token = ada) => {
    const { status, body } = await finish(console, answer, token);
    return [status, body];
  };
  const begun = [409, expect.stringContaining("was not begun here by you")];

  const first = await createThere(await begin(console, {}, ada));
  expect(await refused({ code: first.code, state: "another-state" })).toEqual(begun);
  expect(await refused(first, bob)).toEqual(begun);
  // Whoever tries with somebody else's state has ended it.
  expect(await refused(first)).toEqual(begun);

  const late = await createThere(await begin(console, {}, ada));
  time += hour + 1_000;
  expect(await refused(late)).toEqual(begun);
  time -= hour + 1_000;

  const { state } = await createThere(await begin(console, {}, ada));
  const unknown = [409, expect.stringContaining("does not know this code")];
  expect(await refused({ code: "0123456789abcdef", state })).toEqual(unknown);
  expect((await post(console, "finish", { code: "../app", state }, ada)).status).toBe(400);

  const good = await createThere(await begin(console, {}, ada), "heddle-good");
  const stored = await finish(console, good, ada);
  expect(stored.json()).toMatchObject({ app: { name: "heddle-good", owner: "ada" } });
  expect(await refused(good)).toEqual(begun);
  expect(console.setUp.map((event) => event.action)).toEqual(["setup-saved"]);
  for (const secret of github.appPages.secrets) {
    expect(stored.body).not.toContain(secret);
    expect(JSON.stringify([console.setUp, console.errors])).not.toContain(secret);
  }
  expect((await post(console, "begin", {}, ada)).body).toContain("There is a GitHub App already");
});

test("a GitHub that does not answer leaves the code good", async () => {
  const console = await open();
  const made = await createThere(await begin(console));
  const { pending } = github.appPages;
  const kept = new Map(pending);
  pending.get = () => {
    throw new Error("away");
  };
  const away = await finish(console, made);
  expect([away.status, away.body]).toEqual([503, expect.stringMatching(/did not answer.*good for an hour/)]);
  Reflect.deleteProperty(pending, "get");
  for (const [code, one] of kept) pending.set(code, one);
  expect((await finish(console, made)).status).toBe(200);
});

test("GitHub refuses a name that is taken and a hook that nobody reaches, and an organization owns its App", async () => {
  const console = await open();
  const form = await begin(console, { organization: "acme" });
  expect(form.action).toContain("/organizations/acme/settings/apps/new?state=");
  const made = await createThere(form, "heddle-of-acme");
  const state = (await finish(console, made)).json();
  const deleteAt = `${github.origin}/organizations/acme/settings/apps/heddle-of-acme/advanced`;
  expect(state).toMatchObject({ app: { owner: "acme", deleteAt } });
  expect((await post(console, "forget")).status).toBe(204);
  expect((await post(console, "forget")).status).toBe(409);
  expect((await createThere(await begin(console), "heddle-of-acme")).text).toContain("already been taken");
  expect((await post(console, "begin", { organization: "a/../b" })).status).toBe(400);

  const settings = {
    githubApp: { url: github.origin, apiUrl: github.origin },
    hooks: { address: "http://127.0.0.1" },
  };
  const unreached = await open({}, { githubApp: { settings, environment: seal } });
  expect((await createThere(await begin(unreached))).page).toContain(
    "isn't reachable over the public Internet",
  );
});

test("what is stored opens with its key alone, and signs in for repositories of its own host", async () => {
  const console = await open();
  expect((await finish(console, await createThere(await begin(console), "heddle-sealed"))).status).toBe(200);
  const app = [...github.appPages.apps.values()].find(({ slug }) => slug === "heddle-sealed");
  app?.repositories.push("acme/shop");
  const look = await post(console, "look");
  expect(look.json()).toEqual({
    installations: [{ account: "ada", isSuspended: false, repositories: ["acme/shop"], total: 1 }],
    missing: [],
  });
  // Of the token for the list nothing is left.
  expect(await statusWith(github.issued.at(-1) ?? "")).toBe(401);

  const told: string[] = [];
  const credential = (apiUrl: string, environment: Record<string, string> = seal) => {
    const shop = { url: "http://git.example/acme/shop", kind: "github", apiUrl };
    const config = {
      settings: settingsSchema.parse({
        ...settingsOf(),
        repositories: { shop },
        channels: { "slack:T1:C1": { repositories: ["shop"] } },
      }),
      environment: environmentSchema.parse(environment),
      ...{ variables: {}, dataDir: console.folder },
    };
    const opened = openRepositories(config, {
      redis: () => redis.client(),
      masker: { add: (secret) => void told.push(secret) },
    });
    return opened.egressOf?.("slack:T1:C1:1")[0]?.authorize();
  };
  expect(await credential(github.origin)).toEqual({ ok: true, value: expect.stringMatching(/^Basic /) });
  expect(told.some((secret) => secret.startsWith("ghs_"))).toBe(true);
  // Somebody else's API is asked for nothing in the App's name.
  expect(await credential("http://127.0.0.1:1")).toEqual({ ok: true });
  const other = { HEDDLE_SEAL_KEY: "another-key-another-key-another-key" };
  expect(await credential(github.origin, other)).toEqual({
    ok: false,
    reason: expect.stringContaining("sealed with another HEDDLE_SEAL_KEY"),
  });
  const apart = await open(other);
  const { body } = await call(apart.url, "/api/v1/github-app", {
    headers: { authorization: `Bearer ${own}` },
  });
  expect(body).toContain("cannot be read with this HEDDLE_SEAL_KEY");
  expect((await post(apart, "forget")).status).toBe(204);
  expect(await credential(github.origin)).toEqual({ ok: true });
});

async function statusWith(token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, "user-agent": "test" };
  return (await fetch(`${github.origin}/installation/repositories`, { headers })).status;
}

test("only operators register, and not beside an App of the environment", async () => {
  const console = await open({ GITHUB_APP_CLIENT_ID: "Iv1" });
  expect((await post(console, "begin")).body).toContain("GITHUB_APP_CLIENT_ID in the environment");
  const viewer = await person("eve", "viewer");
  for (const what of ["begin", "finish", "look", "forget"])
    expect((await post(console, what, {}, viewer)).status).toBe(403);
});

test("a form may go to GitHub from one page alone, to which another site may lead", async () => {
  const console = await open();
  const page = "/github-app/index.html";
  const arriving = {
    "sec-fetch-site": "cross-site",
    "sec-fetch-mode": "navigate",
    "sec-fetch-dest": "document",
  };
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await call(console.url, path, {
      headers: { host: new URL(console.url).host, ...headers },
    });
    return { status: answer.status, policy: String(answer.headers["content-security-policy"]) };
  };
  expect((await get(page)).policy).toContain(`form-action ${github.origin};`);
  for (const path of ["/", "/styles/base.css", "/api/v1/github-app", "/github-app/register.js"])
    expect((await get(path)).policy).toContain("form-action 'none';");

  expect((await get(`${page}?code=a&state=b`, arriving)).status).toBe(200);
  for (const path of ["/github-app/register.js", "/api/v1/github-app", `${page}/..`])
    expect([path, (await get(path, arriving)).status]).toEqual([path, 403]);
  expect((await get(page, { ...arriving, "sec-fetch-dest": "iframe" })).status).toBe(403);
  expect((await get(page, { ...arriving, "sec-fetch-mode": "cors" })).status).toBe(403);
});

test("the GitHub of these tests refuses manifests that GitHub refuses", async () => {
  const send = async (manifest: object) => {
    const body = new URLSearchParams({ manifest: JSON.stringify(manifest) });
    const headers = { "user-agent": "browser" };
    const answer = await fetch(`${github.origin}/settings/apps/new`, { method: "POST", headers, body });
    return [answer.status, await answer.text()];
  };
  const good = { url: "https://heddle.example", redirect_url: "https://heddle.example/back" };
  expect(await send(good)).toEqual([200, expect.stringContaining("Create GitHub App for ada")]);
  expect(await send({ ...good, url: undefined })).toEqual([422, expect.stringContaining("wasn't supplied")]);
  expect(await send({ ...good, redirect_url: "nowhere" })).toEqual([422, expect.anything()]);
  const uncovered = { ...good, default_events: ["check_suite"], default_permissions: { contents: "write" } };
  expect(await send(uncovered)).toEqual([
    422,
    expect.stringContaining("not supported by permissions: check_suite"),
  ]);
});
