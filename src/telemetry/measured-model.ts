import type { Counter, Histogram } from "prom-client";
import type { LanguageModel, Usage } from "../agent/model.ts";

interface ModelFigures {
  calls: Counter<"model" | "result">;
  retries: Counter<"model">;
  seconds: Histogram<"model">;
  tokens: Counter<"model" | "type">;
  dollars: Counter<"model">;
}

/** Counts every call, also those for summaries and of helpers, for the model that was really asked. */
export function createMeasuredModel(figures: ModelFigures): (model: LanguageModel) => LanguageModel {
  return (inner) => ({
    ...inner,
    async *stream(request, signal) {
      let model = inner.id;
      let since = performance.now();
      let result = "failed";
      const recordEnd = () => {
        figures.calls.inc({ model, result: signal.aborted && result === "failed" ? "aborted" : result });
        figures.seconds.observe({ model }, (performance.now() - since) / 1_000);
      };
      try {
        for await (const event of inner.stream(request, signal)) {
          if (event.type === "retry") figures.retries.inc({ model });
          if (event.type === "fallback") {
            recordEnd();
            model = event.model;
            since = performance.now();
          }
          if (event.type === "done") {
            result = "ok";
            spend(figures, model, event.usage);
          }
          yield event;
        }
      } finally {
        recordEnd();
      }
    },
  });
}

function spend({ tokens, dollars }: ModelFigures, model: string, usage: Usage): void {
  const { input, output, cacheRead, cacheWrite } = usage;
  tokens.inc({ model, type: "input" }, input);
  tokens.inc({ model, type: "output" }, output);
  tokens.inc({ model, type: "cache-read" }, cacheRead);
  tokens.inc({ model, type: "cache-write" }, cacheWrite);
  dollars.inc({ model }, usage.cost);
}
