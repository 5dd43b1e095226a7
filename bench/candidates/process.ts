/** The process of one candidate: `node process.ts <module> <base URL>`; answers each order over IPC. */
import { writeFileSync } from "node:fs";
import { instantModelName } from "../instant-model.ts";
import type { Conversation, Converse, Open } from "./candidate.ts";
import { beginRecording, type EndRecording } from "../profile/recording.ts";
import { conversation as earlier } from "./conversation.ts";

export type Order =
  /** A turn behind that many messages. */
  | { history: number }
  /** The next task of the one conversation that it keeps. */
  | { say: string }
  /** To record what this process does from here on, or to write what was recorded to that file. */
  | { record: "begin" | { to: string } };

export type Report = { answer: string } | { failed: string } | { ready: true } | { recorded: true };

const [module = "", baseUrl = ""] = process.argv.slice(2);
const tell = (report: Report) => process.send?.(report);

// Every candidate's module exports `open`.
const { open, converse } = (await import(module)) as { open: Open; converse?: Converse };
const candidate = await open({ baseUrl, model: instantModelName });
let conversation: Promise<Conversation> | undefined;
let endRecording: EndRecording | undefined;
process.on("message", (order: Order) => {
  follow(order).then(tell, (error: unknown) =>
    tell({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});

async function follow(order: Order): Promise<Report> {
  if ("say" in order) {
    if (!converse) throw new Error("It keeps no conversation.");
    conversation ??= converse({ baseUrl, model: instantModelName });
    return { answer: await (await conversation).say(order.say) };
  }
  if ("history" in order) return { answer: await candidate.ask(earlier(order.history), "Add them up.") };
  if (order.record === "begin") endRecording = await beginRecording();
  else writeFileSync(order.record.to, JSON.stringify(await endRecording?.()));
  return { recorded: true };
}

process.once("disconnect", () => {
  // Libraries keep connections and timers that would keep the process.
  void Promise.resolve(candidate.close?.()).finally(() => process.exit());
});
tell({ ready: true });
