import { type HeapProfiler, type Profiler, Session } from "node:inspector/promises";

/** What a process did between two moments. */
export interface Recording {
  /** What the main thread had of a processor, ms; waiting for one is not in it. */
  processorMs: number;
  cpu: Profiler.Profile;
  /** What was allocated, collected garbage included. */
  heap: HeapProfiler.SamplingHeapProfile;
}

export type EndRecording = () => Promise<Recording>;

/** Between two samples, µs: fine enough for steps of a fraction of a millisecond, some ten of which are recorded. */
const samplingMicroseconds = 200;
/** On average between two allocations that are looked at. */
const samplingBytes = 16_384;

/** Begins to record this process. The end may be asked for once. */
export async function beginRecording(): Promise<EndRecording> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: samplingMicroseconds });
  await session.post("HeapProfiler.startSampling", {
    samplingInterval: samplingBytes,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  await session.post("Profiler.start");
  const before = process.threadCpuUsage();
  return async () => {
    const { user, system } = process.threadCpuUsage(before);
    const { profile: cpu } = await session.post("Profiler.stop");
    const { profile: heap } = await session.post("HeapProfiler.stopSampling");
    session.disconnect();
    return { processorMs: (user + system) / 1_000, cpu, heap };
  };
}
