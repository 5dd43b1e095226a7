/**
 * Loaded into the program with `--import`: at each SIGUSR2 it prints how late the event loop was since the last
 * one, as `event loop lag <number> {p50, p99, max}` in ms.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";

const resolution = 2;
const histogram = monitorEventLoopDelay({ resolution });
histogram.enable();
let count = 0;
process.on("SIGUSR2", () => {
  count += 1;
  // The histogram holds the whole time between two looks, the wanted pause included.
  const ms = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - resolution);
  const lag = {
    p50: ms(histogram.percentile(50)),
    p99: ms(histogram.percentile(99)),
    max: ms(histogram.max),
  };
  process.stdout.write(`event loop lag ${count} ${JSON.stringify(lag)}\n`);
  histogram.reset();
});
