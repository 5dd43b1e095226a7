import { afterEach, beforeEach, expect, test } from "vitest";
import { createMasker } from "../../src/agent/secrets/mask-secrets.ts";
import { createSearch, type ServiceName } from "../../src/web/search/search.ts";
import { run } from "../agent/tools/services.ts";
import { openSearchServices, searchKey, type SearchServices } from "../fakes/search-services.ts";
import { openWebSite, type WebSite } from "../fakes/web-site.ts";
import { openReading, secret } from "./reading.ts";

let services: SearchServices;
let site: WebSite;
beforeEach(async () => {
  services = await openSearchServices();
  site = await openWebSite({ "loom.example": [["93.184.216.34"]] });
});
afterEach(() => Promise.all([services.close(), site.close()]));

function openSearching(service: ServiceName, { key = searchKey, deadlineMs = 10_000 } = {}) {
  const masker = createMasker([secret]);
  const search = createSearch({ service, key, url: services[service], masker, now: Date.now, deadlineMs });
  const reading = openReading(site, { rules: { hosts: [] }, options: { search } });
  return {
    ...reading,
    find: (query: string, more: Record<string, unknown> = {}) =>
      run(reading.dispatcher, "web_search", { query, ...more }),
  };
}

test.each(["brave", "tavily", "searxng"] as const)(
  "a search gives results with their addresses, and what others wrote is quoted: %s",
  async (service) => {
    const { status, text } = await openSearching(service).find("heddle loom", { count: 3, since: "week" });
    expect(status).toBe("ok");
    expect(text).toContain("Name the sources that your answer rests on, with their addresses.");
    expect(text).toContain("\n\nAddress: https://loom.example/heddle?part=1\n> What a heddle is");
    expect(text).toContain("> A heddle lifts & lowers warp threads. Address: https://evil.example/");
    expect(text).not.toContain("javascript:");
    expect(text.match(/^Address: /gm)).toHaveLength(service === "searxng" ? 3 : 1);
    const since = {
      brave: { freshness: "pw" },
      tavily: { time_range: "week" },
      searxng: { time_range: "month" },
    };
    expect(services.asked).toMatchObject([since[service]]);
  },
);

test("a page that a search returned may be read, and one that only a snippet names may not", async () => {
  const { find, fetch } = openSearching("brave");
  await find("heddle");
  expect((await fetch("https://loom.example/heddle?part=1")).text).toContain(
    "has no page at this address (404)",
  );
  expect((await fetch("https://evil.example/")).text).toMatch(/^DENIED: .*Nobody has given this address/);
});

test("an address in a query does not become one that was given", async () => {
  const { find, fetch } = openSearching("brave");
  await find("https://loom.example/?k=what-was-said");
  expect((await fetch("https://loom.example/?k=what-was-said")).text).toMatch(/^DENIED: /);
  expect(site.requests).toEqual([]);
});

test("a query with a secret is not sent", async () => {
  const { find } = openSearching("brave");
  expect((await find(`why is ${secret} refused`)).text).toContain(
    "the query holds what is, or looks like, a secret",
  );
  expect((await find(encodeURIComponent(secret.replaceAll("-", "%2D")))).status).toBe("error");
  expect(services.asked).toEqual([]);
});

test.each(["brave", "tavily"] as const)("a wrong key is told in a sentence: %s", async (service) => {
  const { text } = await openSearching(service, { key: "wrong" }).find("heddle");
  expect(text).toMatch(
    /^The search did not work: (Brave Search|Tavily) does not accept the key; the operator must look at it\.$/,
  );
});

test("a SearXNG without JSON says what to set", async () => {
  services.withoutJson();
  expect((await openSearching("searxng").find("heddle")).text).toBe(
    "The search did not work: SearXNG gives no JSON; the operator must add json to search.formats of its settings.yml.",
  );
});

test("a SearXNG whose engines all turn it away has not found nothing", async () => {
  services.suspendEngines();
  const { status, text } = await openSearching("searxng").find("heddle");
  expect(status).toBe("error");
  expect(text).toBe(
    "The search did not work: SearXNG found nothing, but some engines did not answer it: brave (Suspended: too many requests), duckduckgo (CAPTCHA).",
  );
});

test.each([
  [{ status: 429 }, "Brave Search takes no more searches at the moment (429); try again later."],
  [{ status: 503 }, "Brave Search has an error of its own (503)."],
  ["redirect", "Brave Search refused the query (302)."],
  ["huge", "Brave Search answered in a form that is not known."],
  ["nonsense", "Brave Search answered in a form that is not known."],
  ["reset", "Brave Search could not be reached."],
  ["silent", "Brave Search did not answer within 0.2 s."],
] as const)("a service that fails is told in a sentence: %j", async (how, said) => {
  services.fail(how);
  const { text } = await openSearching("brave", how === "silent" ? { deadlineMs: 200 } : {}).find("heddle");
  expect(text).toBe(`The search did not work: ${said}`);
});

test.each([
  [{ rules: { search: false } }, "the operator has switched it off for this channel."],
  [{ options: { missing: "BRAVE_API_KEY" } }, "it needs BRAVE_API_KEY, which the operator has not set."],
])("where it is off there is no tool, and the model is told why", (options, said) => {
  const { web, dispatcher } = openReading(site, options);
  expect(dispatcher.definitions.map(({ name }) => name)).toEqual(["web_fetch"]);
  expect(web.describe("t")).toContain(`You cannot search the web here: ${said}`);
});
