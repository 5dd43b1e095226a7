import type { ServiceAccount } from "../agent/llm/check-access.ts";
import { type OpenOptions, openModel } from "../agent/llm/open.ts";
import { ModelError } from "../agent/model.ts";

/** What came of one small request. `wrong` says which answer to ask for again. */
export type ModelTrial =
  | { kind: "answered"; text: string; ms: number }
  | { kind: "failed"; wrong: "key" | "name" | "quota" | "service"; text: string };

/** Sends one small request, which costs a fraction of a cent, without retries. */
export async function tryModel(
  account: ServiceAccount,
  { patienceMs, signal }: { patienceMs: number; signal: AbortSignal },
  options: Pick<OpenOptions, "limits" | "settings"> = {},
): Promise<ModelTrial> {
  const late = AbortSignal.timeout(patienceMs);
  const started = performance.now();
  try {
    const soon = AbortSignal.any([signal, late]);
    const model = await openModel(account, { ...options, retry: { maxRetries: 0 }, askMs: patienceMs / 2 });
    const request = {
      system: "",
      messages: [
        {
          role: "user" as const,
          id: "1",
          author: { id: "operator", name: "operator" },
          text: "Say hello in one word.",
          at: Date.now(),
        },
      ],
      tools: [],
      // Models that think first need some room before the first word.
      maxOutputTokens: 1_024,
    };
    for await (const event of model.stream(request, soon)) {
      if (event.type !== "done") continue;
      const said = event.message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(" ");
      return {
        kind: "answered",
        text: said.trim().replaceAll(/\s+/g, " ").slice(0, 60) || "(nothing)",
        ms: Math.round(performance.now() - started),
      };
    }
    return { kind: "failed", wrong: "service", text: "The service ended its answer early." };
  } catch (error) {
    signal.throwIfAborted();
    if (late.aborted) {
      const text = `The service did not answer within ${patienceMs / 1_000} s: check the network, or a proxy on the way.`;
      return { kind: "failed", wrong: "service", text };
    }
    if (!(error instanceof ModelError)) throw error;
    return { kind: "failed", wrong: readWrong(error), text: error.message };
  }
}

function readWrong({ kind }: ModelError): "key" | "name" | "quota" | "service" {
  switch (kind) {
    case "auth":
      return "key";
    case "not-found":
      return "name";
    case "quota":
      return "quota";
    default:
      return "service";
  }
}
