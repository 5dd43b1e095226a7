import { expect, test } from "vitest";
import { openRepositories } from "../../../src/app/repositories/repositories.ts";
import { openSandboxBackend } from "../../../src/app/sandbox.ts";
import { validateReferences } from "../../../src/app/validate-references.ts";
import { environmentSchema } from "../../../src/config/environment.ts";
import { settingsSchema } from "../../../src/config/schema.ts";

const shop = { url: "https://github.com/acme/shop", tokenVariable: "SHOP_TOKEN", registries: ["npm"] };
const channels = { "slack:T1:C1": { repositories: ["shop"] } };

function open(settings: object, variables: Record<string, string> = { SHOP_TOKEN: "ghp_x" }) {
  const config = {
    dataDir: "/nowhere",
    settings: settingsSchema.parse(settings),
    environment: environmentSchema.parse(variables),
    variables,
  };
  const redis = () => {
    throw new Error("nothing is stored");
  };
  return { config, repositories: openRepositories(config, { redis, masker: { add: () => {} } }) };
}

test("a channel has the repositories and registries that it names, and no other has them", () => {
  const { config, repositories } = open({ repositories: { shop }, channels });
  const titles = (thread: string) =>
    repositories.open(thread, () => undefined)?.list.map(({ title }) => title);
  expect(titles("slack:T1:C1:1")).toEqual(["acme/shop"]);
  expect(titles("slack:T1:C2:1")).toBeUndefined();
  expect(repositories.egressOf?.("slack:T1:C2:1")).toEqual([]);
  expect(repositories.egressOf?.("probe")).toEqual([]);
  const backend = openSandboxBackend(
    { ...config, dataDir: "/nowhere", secretFiles: [] },
    { repositoriesOf: repositories.egressOf },
  );
  const note = backend.note("slack:T1:C1:1");
  expect(note).toMatch(/registry\.npmjs\.org[^]*http:\/\/github\.com\/acme\/shop\.git/);
  expect(note).not.toContain("ghp_x");
  expect(backend.note("slack:T1:C2:1")).toBe("");
});

test("what is missing or wrong is named at start", () => {
  expect(() => open({ repositories: { shop } }, {})).toThrow(
    /repositories\.shop names SHOP_TOKEN, which is not set/,
  );
  expect(() => open({ repositories: { shop } }, { SHOP_TOKEN: "a b" })).toThrow(/SHOP_TOKEN.*is no token/);
  const app = { GITHUB_APP_CLIENT_ID: "Iv1" };
  expect(() => open({}, app)).toThrow(/set without a key/);
  const broken = { ...app, GITHUB_APP_PRIVATE_KEY: "-----BEGIN PRIVATE KEY-----\\nabc" };
  expect(() => open({}, broken)).toThrow(/^GITHUB_APP_PRIVATE_KEY holds no RSA private key/);
  const unknown = settingsSchema.parse({ channels });
  expect(() => validateReferences(unknown, [])).toThrow(
    /channels\.slack:T1:C1\.repositories: there is no repository shop/,
  );
});

test.each([
  "https://github.com/acme",
  "https://github.com/acme/shop/",
  "https://ada:secret@github.com/acme/shop",
  "git@github.com:acme/shop",
])("%s is no address of a repository", (url) => {
  expect(settingsSchema.safeParse({ repositories: { shop: { url } } }).success).toBe(false);
});

test("a co-author is a name with an address, in one line", () => {
  const accepts = (who: string) =>
    settingsSchema.safeParse({ repositories: { shop: { ...shop, coAuthors: { U1: who } } } }).success;
  expect(accepts("Ada Lovelace <1234+ada@users.noreply.github.com>")).toBe(true);
  for (const who of [
    "Ada",
    "ada@example.com",
    "Ada <ada>",
    "A <a@b.c>\nSigned-off-by: B <b@c.d>",
    "A\n <a@b.c>",
  ])
    expect([who, accepts(who)]).toEqual([who, false]);
});
