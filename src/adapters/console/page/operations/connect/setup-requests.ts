/** What the page Connect asks of its server. */
import type { ConsoleSetupStep, SetupAnswer } from "../../../setup-at-console.ts";
import type { SetupState } from "../../../streams/setup-streams.ts";
import { type Connection, postForNothing, request, watch } from "../../transport.ts";

/** How the set-up stands, whole, with each change. Returns what closes it. */
export function watchSetup(on: Connection & { setup(state: SetupState): void }): () => void {
  return watch(() => "/api/v1/setup/events", on, { setup: (data) => on.setup(JSON.parse(data)) });
}

export async function beginSetup(steps: ConsoleSetupStep[]): Promise<void> {
  await request("POST", "/api/v1/setup", { steps });
}

export function answerSetup(answer: SetupAnswer): Promise<void> {
  return postForNothing("/api/v1/setup/answers", answer);
}

/** Ends a run; what was saved stays. */
export function endSetup(run: string): Promise<void> {
  return postForNothing("/api/v1/setup/end", { run });
}
