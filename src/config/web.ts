import { z } from "zod";
import { count, hosts, url } from "./values.ts";

/** What the agent may read of the web, in `heddle.yaml`. docs/web.md explains it. */

const fetchMode = z
  .enum(["off", "listed", "open"])
  .describe(
    "which pages web_fetch reads: none; those of the hosts in allow; or any public page that a person named, a search returned or a page linked",
  );

export const webSchema = z
  .strictObject({
    fetch: fetchMode.default("off"),
    allow: hosts.describe(
      "hosts whose pages are read without asking, whoever put the address together: example.com or *.example.com",
    ),
    unknown: z
      .enum(["ask", "refuse"])
      .default("ask")
      .describe("what becomes of an address that nobody has given; ask: a person must approve it"),
    queryCharacters: count(0, 2_000)
      .default(200)
      .describe("an address with more than this behind its ? counts as one that nobody has given"),
    pageMb: z
      .number()
      .positive()
      .max(50)
      .default(5)
      .describe("largest page, as it arrives and as it is unpacked"),
    seconds: count(1, 300).default(30).describe("time limit for fetching a page, redirects included"),
    cacheMinutes: z
      .number()
      .min(0)
      .max(1_440)
      .default(10)
      .describe("a page is not fetched again in its thread for so long"),
    search: z
      .enum(["off", "brave", "tavily", "searxng", "model"])
      .default("off")
      .describe(
        "the service behind web_search; brave needs BRAVE_API_KEY, tavily needs TAVILY_API_KEY; model: the search of the model's own service, where it has one (Anthropic, OpenAI)",
      ),
    searchUrl: url
      .exactOptional()
      .describe("the address of the search service, if not its usual one; searxng needs it"),
  })
  .refine(({ search, searchUrl }) => search !== "searxng" || searchUrl !== undefined, {
    path: ["searchUrl"],
    error: "expected the address of your SearXNG, e.g. http://127.0.0.1:8080/search",
  })
  .prefault({});

/** What is different in a channel. */
export const channelWebSchema = z.strictObject({
  fetch: fetchMode.exactOptional(),
  allow: hosts.describe("hosts beside those of web.allow"),
  search: z.boolean().exactOptional().describe("false: no web_search here"),
});
