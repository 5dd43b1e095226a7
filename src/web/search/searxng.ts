import { z } from "zod";
import { cutText, toOneLine } from "../../agent/text/text.ts";
import type { SearchService } from "./service.ts";

/** It documents no week. */
const timeRange = { day: "day", week: "month", month: "month", year: "year" };

const answer = z.object({
  results: z.array(
    z.object({
      title: z.string(),
      url: z.string().nullish(),
      content: z.string().nullish(),
      publishedDate: z.string().nullish(),
    }),
  ),
});

/** Engines that gave nothing, each with the reason. */
const silence = z.object({ unresponsive_engines: z.array(z.tuple([z.string(), z.string()])).min(1) });

/** https://docs.searxng.org/dev/search_api.html. It has no count: as many as are wanted are taken. */
export const searxng: SearchService = {
  title: "SearXNG",
  url: "http://127.0.0.1:8080/search",
  request({ words, since }, url) {
    const address = new URL(url);
    if (address.pathname === "/") address.pathname = "/search";
    address.searchParams.set("q", words);
    address.searchParams.set("format", "json");
    if (since) address.searchParams.set("time_range", timeRange[since]);
    return { address, headers: { accept: "application/json" } };
  },
  parse: (body) =>
    answer.safeParse(body).data?.results.map(({ title, url, content, publishedDate: date }) => ({
      ...{ title, address: url ?? "", snippet: content ?? "" },
      ...(date && { date: date.slice(0, 10) }),
    })),
  explainEmpty(body) {
    const { data } = silence.safeParse(body);
    const engines = data?.unresponsive_engines.slice(0, 5).map(([name, why]) => `${name} (${why})`);
    return (
      engines &&
      cutText(
        toOneLine(`SearXNG found nothing, but some engines did not answer it: ${engines.join(", ")}.`),
        500,
      )
    );
  },
  refusals: {
    403: "SearXNG gives no JSON; the operator must add json to search.formats of its settings.yml.",
  },
};
