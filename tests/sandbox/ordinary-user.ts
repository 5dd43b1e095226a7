/** Runs cases as whoever started it: takes names over IPC, answers with the failure or nothing. */
import { caseRunner } from "./cases.ts";

const runner = caseRunner(process.argv[2] ?? "");

process.on("message", async (name: string) => {
  const failure = await runner.run(name).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error)),
  );
  process.send?.({ name, failure });
});
process.on("disconnect", () => void runner.close().then(() => process.exit()));
