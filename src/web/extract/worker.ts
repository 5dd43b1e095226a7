import { parentPort, workerData } from "node:worker_threads";
import { extractText } from "./extract-text.ts";
import type { ExtractOrder } from "./extracted.ts";

/** Reads one page and ends. Who starts it limits its time and memory (`extractor.ts`). */

// Not awaited, for the bundler (see main.ts).
void extractText(workerData as ExtractOrder).then((text) => {
  // extractor.ts gives nothing else, and a thread has no origin.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  parentPort?.postMessage(text);
});
