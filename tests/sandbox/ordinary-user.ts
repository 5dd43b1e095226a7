/** Runs cases as whoever started it: takes names over IPC, answers with the failure or nothing. */
import { caseRunner } from "./cases.ts";

const runner = caseRunner(process.argv[2] ?? "");

async function answer(name: string): Promise<void> {
  const failure = await runner.run(name).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error)),
  );
  process.send?.({ failure });
}

process.on("message", (name: string) => void answer(name));
process.on("disconnect", () => void runner.close().then(() => process.exit()));
