import type { ModelFacts } from "./catalogue.ts";
import type { ServiceAnswer } from "./errors.ts";

/** What a protocol's SDK can be asked about a model, besides calling it. Costs nothing. */
export interface FactsSource {
  /** Throws whatever went wrong: hand it to `readAnswer`. */
  fetchFacts(
    model: string,
    account: {
      apiKey?: string | undefined;
      baseUrl?: string | undefined;
      headers?: Readonly<Record<string, string>> | undefined;
    },
    signal: AbortSignal,
  ): Promise<Partial<ModelFacts>>;
  /** What the service itself said; undefined when the error is neither its answer nor a broken connection to it. */
  readAnswer(error: unknown): ServiceAnswer | undefined;
}
