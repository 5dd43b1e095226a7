import { z } from "zod";
import type { SearchService } from "./service.ts";

const answer = z.object({
  results: z.array(
    z.object({
      title: z.string(),
      url: z.string(),
      content: z.string().default(""),
      published_date: z.string().nullish(),
    }),
  ),
});

/** https://docs.tavily.com/documentation/api-reference/endpoint/search */
export const tavily: SearchService = {
  title: "Tavily",
  url: "https://api.tavily.com/search",
  request: ({ words, count, since }, url, key) => ({
    address: new URL(url),
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({ query: words, max_results: count, ...(since && { time_range: since }) }),
  }),
  parse: (body) =>
    answer.safeParse(body).data?.results.map(({ title, url, content, published_date: date }) => ({
      ...{ title, address: url, snippet: content },
      ...(date && { date }),
    })),
  refusals: {
    432: "Tavily's plan has no searches left; the operator must look at it.",
    433: "Tavily's limit of pay-as-you-go is reached; the operator must look at it.",
  },
};
