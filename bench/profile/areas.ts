import { fileURLToPath } from "node:url";
import { join, relative } from "node:path";
import type { Profiler, Runtime } from "node:inspector/promises";
import type { Recording } from "./recording.ts";

/** A part of the program: a folder of `src`, a package, Node itself. */
export interface AreaCost {
  area: string;
  /** Spent in its own functions, ms. */
  selfMs: number;
  /** Spent in them and in what they called that is no other folder of `src`, ms; undefined for what is not in `src`. */
  causedMs?: number;
  /** Allocated by its own functions, bytes. */
  selfBytes: number;
}

export interface FunctionCost {
  /** Its name, file and line. */
  name: string;
  selfMs: number;
}

/** What a recording says of the main thread. */
export interface Costs {
  /** Of a processor. */
  processorMs: number;
  bytes: number;
  /** The most expensive first. */
  areas: AreaCost[];
  /** Functions of this repository and of packages, the most expensive first. */
  functions: FunctionCost[];
}

const root = join(import.meta.dirname, "../..");

/** Who spent the time of a recording, and who allocated. */
export function summarize({ processorMs, cpu, heap }: Recording): Costs {
  const areas = new Map<string, AreaCost>();
  const areaOf = (area: string): AreaCost => {
    const found = areas.get(area) ?? { area, selfMs: 0, selfBytes: 0 };
    areas.set(area, found);
    return found;
  };
  const functions = new Map<string, FunctionCost>();
  const samples = countSamples(cpu);
  const nodes = [...withOwners(cpu)].filter(({ node }) => nameArea(node.callFrame) !== undefined);
  const all = nodes.reduce((sum, { node }) => sum + (samples.get(node.id) ?? 0), 0);
  for (const { node, owner } of nodes) {
    const area = nameArea(node.callFrame) ?? "";
    // Shares by samples, the whole by the kernel's account: so a busy machine changes neither by much.
    const time = (processorMs * (samples.get(node.id) ?? 0)) / all;
    if (time === 0) continue;
    areaOf(area).selfMs += time;
    if (owner !== undefined) {
      const cause = areaOf(owner);
      cause.causedMs = (cause.causedMs ?? 0) + time;
    }
    if (node.callFrame.url === "") continue;
    const name = nameFunction(node.callFrame);
    const cost = functions.get(name) ?? { name, selfMs: 0 };
    cost.selfMs += time;
    functions.set(name, cost);
  }
  let bytes = 0;
  const allocate = (node: typeof heap.head): void => {
    areaOf(nameArea(node.callFrame) ?? "V8").selfBytes += node.selfSize;
    bytes += node.selfSize;
    node.children.forEach(allocate);
  };
  allocate(heap.head);
  return {
    processorMs,
    bytes,
    areas: [...areas.values()].toSorted((a, b) => b.selfMs - a.selfMs),
    functions: [...functions.values()].toSorted((a, b) => b.selfMs - a.selfMs),
  };
}

/** How often each node was on top of the stack. */
function countSamples({ samples = [] }: Profiler.Profile): Map<number, number> {
  const counts = new Map<number, number>();
  for (const id of samples) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

/** Every node with the folder of `src` that it works for: its own, or that of its nearest caller in `src`. */
function* withOwners({ nodes }: Profiler.Profile) {
  const owners = new Map<number, string>();
  // Parents come before their children.
  for (const node of nodes) {
    const area = nameArea(node.callFrame);
    const owner = area?.startsWith("src/") ? area : owners.get(node.id);
    for (const child of node.children ?? []) if (owner !== undefined) owners.set(child, owner);
    yield { node, owner };
  }
}

/** Undefined where nothing is done but to wait or to record. */
function nameArea({ functionName, url }: Runtime.CallFrame): string | undefined {
  if (functionName === "(idle)" || url === "node:inspector") return undefined;
  if (functionName === "(garbage collector)") return "garbage collection";
  if (functionName === "(program)") return "native code and the kernel";
  if (url.startsWith("node:")) return "Node";
  if (!url.startsWith("file:")) return "V8";
  const path = relative(root, fileURLToPath(url));
  const inPackage = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1];
  if (inPackage !== undefined) return inPackage;
  const [top = "", room = ""] = path.split("/");
  if (top !== "src") return "the benchmark and its stand-ins";
  return room.includes(".") ? "src" : `src/${room}`;
}

function nameFunction({ functionName, url, lineNumber }: Runtime.CallFrame): string {
  const path = url.startsWith("file:")
    ? relative(root, fileURLToPath(url)).replace(/^.*node_modules\//, "")
    : url;
  return `\`${functionName || "(anonymous)"}\` ${path}:${lineNumber + 1}`;
}
