import { z } from "zod";
import type { SearchService } from "./service.ts";

const freshness = { day: "pd", week: "pw", month: "pm", year: "py" };

const answer = z.object({
  web: z
    .object({
      results: z.array(
        z.object({
          title: z.string(),
          url: z.string(),
          description: z.string().default(""),
          page_age: z.string().optional(),
        }),
      ),
    })
    .default({ results: [] }),
});

/** It answers 422 to a key that it does not know, as it does to a query that it does not take. */
const keyRefusal = z.object({ error: z.object({ code: z.literal("SUBSCRIPTION_TOKEN_INVALID") }) });

/** https://api-dashboard.search.brave.com/documentation/services/web-search */
export const brave: SearchService = {
  title: "Brave Search",
  url: "https://api.search.brave.com/res/v1/web/search",
  request({ words, count, since }, url, key) {
    const address = new URL(url);
    address.searchParams.set("q", words);
    address.searchParams.set("count", String(count));
    if (since) address.searchParams.set("freshness", freshness[since]);
    return { address, headers: { accept: "application/json", "x-subscription-token": key } };
  },
  refusesKey: (body) => keyRefusal.safeParse(body).success,
  parse: (body) =>
    answer.safeParse(body).data?.web.results.map(({ title, url, description, page_age: date }) => ({
      ...{ title, address: url, snippet: description },
      ...(date && { date: date.slice(0, 10) }),
    })),
};
