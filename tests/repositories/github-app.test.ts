import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createAppCredential, readAppLogin } from "../../src/repositories/github-app.ts";
import { type FakeGithub, startGithub } from "../fakes/github.ts";

const { publicKey, privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs1", format: "pem" },
});
const minute = 60_000;
let time = Date.parse("2026-11-23T09:00:00Z");
let github: FakeGithub;
let told: string[];
beforeAll(async () => {
  github = await startGithub({ now: () => time });
  github.addApp({ clientId: "Iv23heddle", publicKey, repositories: ["acme/shop", "acme/other"] });
});
afterAll(() => github.close());
beforeEach(() => {
  told = [];
});

function credentialOf(place: { name?: string; api?: string } = {}, key = privateKey) {
  return createAppCredential({
    readApp: async () => ({
      ok: true,
      app: { clientId: "Iv23heddle", privateKey: createPrivateKey(key) },
    }),
    place: { api: github.origin, owner: "acme", name: "shop", ...place },
    now: () => time,
    onToken: (token) => told.push(token),
  });
}

const granted = async (token: string, repository: string) => {
  const headers = { authorization: `Bearer ${token}`, "user-agent": "test" };
  return (await fetch(`${github.origin}/repos/${repository}/pulls?head=acme:x`, { headers })).status;
};

test("the App says under which account it works, and none is known where GitHub does not answer for it", async () => {
  const app = { clientId: "Iv23heddle", privateKey: createPrivateKey(privateKey) };
  const now = () => time;
  expect(await readAppLogin(app, { api: github.origin }, now)).toBe("heddle-app[bot]");
  expect(await readAppLogin({ ...app, clientId: "other" }, { api: github.origin }, now)).toBeUndefined();
  expect(await readAppLogin(app, { api: "http://127.0.0.1:9" }, now)).toBeUndefined();
});

test("a token is for that repository alone, is told to who hides it, and serves until 5 minutes before its end", async () => {
  const credential = credentialOf();
  const both = await Promise.all([credential.token(), credential.token()]);
  expect(told).toHaveLength(1);
  const [first = ""] = told;
  expect(both).toEqual([
    { ok: true, value: first },
    { ok: true, value: first },
  ]);
  expect([await granted(first, "acme/shop"), await granted(first, "acme/other")]).toEqual([200, 404]);

  time += 54 * minute;
  expect(await credential.token()).toEqual({ ok: true, value: first });
  time += 2 * minute;
  const second = await credential.token();
  expect(second).not.toEqual({ ok: true, value: first });
  expect(told).toHaveLength(2);
});

test("one that the host has refused is replaced at once, also when many notice it", async () => {
  const credential = credentialOf();
  await credential.token();
  const [first = ""] = told;
  github.revoke(first);
  const all = await Promise.all([1, 2, 3].map(() => credential.token(first)));
  expect(new Set(all.map((token) => token.ok && token.value))).toEqual(new Set([told[1]]));
  // Somebody who is late with an old one gets what there is.
  expect(await credential.token("older")).toEqual({ ok: true, value: told[1] });
});

test("a service that is away at renewal takes nothing from a token that is still good", async () => {
  const own = await startGithub({ now: () => time });
  own.addApp({ clientId: "Iv23heddle", publicKey, repositories: ["acme/shop"] });
  const credential = credentialOf({ api: own.origin });
  const first = await credential.token();
  await own.close();
  time += 57 * minute;
  expect(await credential.token()).toEqual(first);
  time += 5 * minute;
  expect(await credential.token()).toMatchObject({
    ok: false,
    reason: expect.stringContaining("did not answer"),
  });
});

test("what the operator must do is said: another key, no installation", async () => {
  const other = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const wrong = credentialOf({}, other.export({ type: "pkcs8", format: "pem" }));
  expect(await wrong.token()).toMatchObject({
    ok: false,
    reason: expect.stringContaining("GITHUB_APP_PRIVATE_KEY"),
  });
  const away = credentialOf({ name: "unknown" });
  expect(await away.token()).toMatchObject({
    ok: false,
    reason: expect.stringContaining("is not installed for acme/unknown"),
  });
});
