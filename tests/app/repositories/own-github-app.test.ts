import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createAppReader,
  createOwnLogins,
  openGithubAppStore,
} from "../../../src/app/repositories/own-github-app.ts";
import { environmentSchema } from "../../../src/config/environment.ts";
import { settingsSchema } from "../../../src/config/schema.ts";
import { startRedis, type TestRedis } from "../../fakes/redis.ts";
import { listenForTest } from "../../fakes/listen-for-test.ts";

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const pem = privateKey.export({ type: "pkcs1", format: "pem" });

/** A host that says who the App is, with these statuses one after the other. */
async function startHost(...answers: number[]) {
  const asked: (string | undefined)[] = [];
  const host = createServer((request, response) => {
    asked.push(request.url);
    response.writeHead(answers.shift() ?? 500).end(JSON.stringify({ slug: "Heddle-App" }));
  });
  return { asked, url: await listenForTest(host) };
}

function open(repositories: object, variables: Record<string, string>) {
  const config = {
    dataDir: "/nowhere",
    settings: settingsSchema.parse({ repositories }),
    environment: environmentSchema.parse(variables),
  };
  const redis = server.client();
  const readApp = createAppReader(config, { redis: () => redis, masker: { add: () => {} } });
  return { config, readApp, store: openGithubAppStore(config, redis) };
}

test("the account of the App is asked for where it signs in, and again where the host did not say it", async () => {
  const { asked, url } = await startHost(503, 200);
  const variables = { SHOP_TOKEN: "ghp_x", GITHUB_APP_CLIENT_ID: "Iv1", GITHUB_APP_PRIVATE_KEY: pem };
  const repositories = {
    ...{
      one: { url: `${url}/acme/shop`, kind: "github" },
      two: { url: `${url}/acme/shop2`, kind: "github" },
    },
    // These sign in otherwise, and are not asked.
    ...{ shop: { url: "https://github.com/acme/shop", tokenVariable: "SHOP_TOKEN" } },
    tea: { url: `${url}/acme/shop3`, kind: "gitea" },
  };
  const { config, readApp } = open(repositories, variables);
  let now = Date.now();
  const accounts = createOwnLogins(config, readApp, () => now);
  const first = await accounts();
  expect([...first]).toEqual([]);
  expect([...(await accounts())]).toEqual([]);
  now += 61_000;
  expect([...(await accounts())]).toEqual(["heddle-app[bot]"]);
  now += 61_000;
  await accounts();
  expect(asked).toEqual(["/api/v3/app", "/api/v3/app"]);
});

test("the account of an App that was registered from the console is known too, at its own API and from then on", async () => {
  const { asked, url } = await startHost(200);
  const api = `${url}/api`;
  const { config, readApp, store } = open(
    { one: { url: `${url}/acme/shop`, kind: "github", apiUrl: `${api}/` } },
    { HEDDLE_SEAL_KEY: "0".repeat(64) },
  );
  const accounts = createOwnLogins(config, readApp);
  expect([...(await accounts())]).toEqual([]);
  const owner = { login: "acme", isOrganization: true };
  const named = { slug: "heddle-app", name: "Heddle", owner, page: `${url}/apps/heddle-app` };
  await store.write({ ...named, url, api, clientId: "Iv2", privateKey: pem, at: 1 });
  expect([...(await accounts())]).toEqual(["heddle-app[bot]"]);
  expect([...(await accounts())]).toEqual(["heddle-app[bot]"]);
  expect(asked).toEqual(["/api/app"]);
});
