import { Redis } from "ioredis";
import { afterEach, expect, test } from "vitest";
import { createMasker } from "../../src/agent/secrets/mask-secrets.ts";
import { findMissingSearchKey, openWeb } from "../../src/app/web.ts";
import { environmentSchema } from "../../src/config/environment.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import { readerOf } from "../agent/journal-reader.ts";

const redis = new Redis({ lazyConnect: true });
afterEach(() => redis.disconnect());

function open(settings: object, environment: Record<string, string> = {}) {
  const config = {
    settings: settingsSchema.parse(settings),
    environment: environmentSchema.parse(environment),
  };
  const web = openWeb(config, { masker: createMasker([]), redis });
  const openIn = (channel: string) => {
    const access = web.open(
      `slack:T1:${channel}:1`,
      readerOf(() => []),
    );
    return {
      reads: !!access?.pages,
      searches: !!access?.search,
      told: web.describe(`slack:T1:${channel}:1`),
    };
  };
  return { missing: findMissingSearchKey(config), in: openIn };
}

test("nothing of the web is there until the operator says so, and one line says so", () => {
  expect(open({}).in("C1")).toMatchObject({ reads: false, searches: false });
  expect(open({ web: { fetch: "open" } }).in("C1")).toMatchObject({ reads: true, searches: false });
});

test("a channel can have less than the others, or more", () => {
  const { in: of } = open(
    {
      web: { fetch: "listed", allow: ["docs.example.org"], search: "brave" },
      channels: {
        "slack:T1:C2": { web: { fetch: "off", search: false } },
        "slack:T1:C3": { web: { allow: ["wiki.example.org"] } },
      },
    },
    { BRAVE_API_KEY: "key" },
  );
  expect(of("C1")).toMatchObject({
    reads: true,
    searches: true,
    told: "web_fetch reads pages of these hosts and no others: docs.example.org.",
  });
  expect(of("C2")).toMatchObject({ reads: false, searches: false });
  expect(of("C3").told).toContain("docs.example.org, wiki.example.org");
});

test("a search service without its key is off, and the variable is named", () => {
  const { missing, in: of } = open({ web: { search: "tavily" } });
  expect(missing).toBe("TAVILY_API_KEY");
  expect(of("C1").searches).toBe(false);
  expect(of("C1").told).toContain("it needs TAVILY_API_KEY, which the operator has not set.");
});

test("a SearXNG needs its address and no key", () => {
  expect(() => open({ web: { search: "searxng" } })).toThrow("expected the address of your SearXNG");
  const { in: of } = open({ web: { search: "searxng", searchUrl: "http://127.0.0.1:8080" } });
  expect(of("C1").searches).toBe(true);
});
