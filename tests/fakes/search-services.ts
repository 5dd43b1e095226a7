import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { closeServer, listen } from "./listen.ts";

/**
 * Search services on loopback that refuse what the real ones refuse.
 *
 * - Brave: https://api-dashboard.search.brave.com/documentation/services/web-search
 * - Tavily: https://docs.tavily.com/documentation/api-reference/endpoint/search
 * - SearXNG: https://docs.searxng.org/dev/search_api.html
 */
export interface SearchServices {
  brave: string;
  tavily: string;
  searxng: string;
  /** What was asked for, as the service read it. */
  asked: Record<string, unknown>[];
  /** Has the next requests end so. */
  fail(how: { status: number } | "silent" | "redirect" | "huge" | "nonsense" | "reset"): void;
  /** Has the engines of SearXNG be silent or turn it away, as those of the web do with a busy one. */
  suspendEngines(): void;
  /** Turns off `json` in `search.formats` of SearXNG. */
  withoutJson(): void;
  close(): Promise<void>;
}

export const searchKey = "key-of-the-search-service";

const first = {
  title: "What a <strong>heddle</strong> is",
  url: "https://loom.example/heddle?part=1",
  text: "A heddle lifts &amp; lowers\nwarp threads. Address: https://evil.example/ ",
};

/** As people quote it, e.g. https://github.com/nearai/ironclaw/issues/2780. */
const wrongBraveKey = {
  type: "ErrorResponse",
  error: {
    code: "SUBSCRIPTION_TOKEN_INVALID",
    detail: "The provided subscription token is invalid.",
    status: 422,
  },
};

export async function openSearchServices(): Promise<SearchServices> {
  const asked: SearchServices["asked"] = [];
  let failure: Parameters<SearchServices["fail"]>[0] | undefined;
  let hasJson = true;
  let hasEngines = true;

  const brave = (request: IncomingMessage, url: URL, response: ServerResponse) => {
    const count = Number(url.searchParams.get("count") ?? 20);
    const q = url.searchParams.get("q") ?? "";
    if (request.headers["x-subscription-token"] !== searchKey) return refuse(response, 422, wrongBraveKey);
    if (q === "" || q.length > 400 || count < 1 || count > 20) return refuse(response, 422);
    asked.push(Object.fromEntries(url.searchParams));
    return answer(response, {
      type: "search",
      web: {
        type: "search",
        results: [
          { title: first.title, url: first.url, description: first.text, page_age: "2026-11-02T00:00:00" },
          { title: "Not a page", url: "javascript:alert(1)", description: "" },
        ],
      },
    });
  };
  const tavily = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method !== "POST") return refuse(response, 405);
    if (request.headers.authorization !== `Bearer ${searchKey}`) return refuse(response, 401);
    const body = (await json(request)) as Record<string, unknown>; // The service takes objects only.
    const { query, max_results: most = 5, time_range: range } = body;
    const ranges = ["day", "week", "month", "year", undefined];
    if (typeof query !== "string" || Number(most) > 20 || !ranges.some((known) => known === range))
      return refuse(response, 400);
    asked.push(body);
    return answer(response, {
      query,
      answer: null,
      results: [{ title: first.title, url: first.url, content: first.text, score: 0.9, raw_content: null }],
      response_time: 1.2,
    });
  };
  const searxng = (url: URL, response: ServerResponse) => {
    const range = url.searchParams.get("time_range");
    if (url.searchParams.get("format") !== "json" || !hasJson) return refuse(response, 403);
    if (!url.searchParams.get("q") || (range !== null && !["day", "month", "year"].includes(range)))
      return refuse(response, 400);
    asked.push(Object.fromEntries(url.searchParams));
    const unresponsive = [
      ["brave", "Suspended: too many requests"],
      ["duckduckgo", "CAPTCHA"],
    ];
    if (!hasEngines) return answer(response, { query: "", results: [], unresponsive_engines: unresponsive });
    const entry = { title: first.title, url: first.url, content: first.text, engine: "duckduckgo", score: 1 };
    return answer(response, {
      query: "",
      number_of_results: 0,
      // What an engine gives as plain facts has no address.
      results: [{ title: "Facts", url: null, content: null }, ...Array.from({ length: 30 }, () => entry)],
    });
  };

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://service");
    if (failure === "silent") return undefined;
    if (failure === "reset") return void request.socket.destroy();
    if (failure === "redirect") return void response.writeHead(302, { location: "/elsewhere" }).end();
    if (failure === "huge") return void response.end(Buffer.alloc(5_000_000, " "));
    if (failure === "nonsense") return void response.end("<html>");
    if (failure) return refuse(response, failure.status);
    if (url.pathname === "/res/v1/web/search") return brave(request, url, response);
    if (url.pathname === "/search" && request.method === "GET") return searxng(url, response);
    return void tavily(request, response);
  });
  const base = `http://127.0.0.1:${await listen(server)}`;
  return {
    ...{ brave: `${base}/res/v1/web/search`, tavily: `${base}/search`, searxng: base, asked },
    fail: (how) => (failure = how),
    suspendEngines: () => (hasEngines = false),
    withoutJson: () => (hasJson = false),
    async close() {
      await closeServer(server);
    },
  };
}

function answer(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function refuse(response: ServerResponse, status: number, body: object = { error: {} }): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
