/** The process of one candidate: `node process.ts <module> <base URL>`; answers each order over IPC. */
import { instantModelName } from "../instant-model.ts";
import type { Open } from "./candidate.ts";
import { conversation } from "./conversation.ts";

export interface Order {
  /** Messages before the task. */
  history: number;
}

export type Report = { answer: string } | { failed: string } | { ready: true };

const [module = "", baseUrl = ""] = process.argv.slice(2);
const tell = (report: Report) => process.send?.(report);

// Every candidate's module exports it.
const { open } = (await import(module)) as { open: Open };
const candidate = await open({ baseUrl, model: instantModelName });
process.on("message", ({ history }: Order) => {
  candidate.ask(conversation(history), "Add them up.").then(
    (answer) => tell({ answer }),
    (error: unknown) =>
      tell({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
process.once("disconnect", () => {
  // Libraries keep connections and timers that would keep the process.
  void Promise.resolve(candidate.close?.()).finally(() => process.exit());
});
tell({ ready: true });
