/**
 * Keeps the agent from calling a broken tool again and again: after some failures in a row the circuit opens, and after a
 * while one call at a time may probe whether the tool works again. It remembers only tools that have failed, and of these
 * so many, so one breaker can serve a process for its whole life.
 */
export interface CircuitBreaker {
  /** Asks to run `tool`. Every pass must be settled exactly once. */
  enter(tool: string): { ok: true; pass: Pass } | { ok: false; failures: number; retryInMs: number };
}

interface Pass {
  /** `undecided`: the call says nothing about the tool (it was stopped). */
  settle(outcome: "worked" | "failed" | "undecided"): void;
}

interface Circuit {
  failures: number;
  /** When the rest ends, in the clock's milliseconds; null while closed. */
  restsUntil: number | null;
  probing: boolean;
}

/**
 * @param options.failures failures in a row that open the circuit. Default 3.
 * @param options.restMs how long it stays open before a probe. Default 300,000.
 * @param options.most tools that are remembered; of more those whose failures are the oldest are forgotten. Default 1,000.
 */
export function createCircuitBreaker(options: {
  now(): number;
  failures?: number;
  restMs?: number;
  most?: number;
}): CircuitBreaker {
  const { now, failures: limit = 3, restMs = 300_000, most = 1_000 } = options;
  const circuits = new Map<string, Circuit>();
  const findCircuit = (tool: string): Circuit =>
    circuits.get(tool) ?? { failures: 0, restsUntil: null, probing: false };

  return {
    enter(tool) {
      const circuit = findCircuit(tool);
      const wait = circuit.restsUntil === null ? 0 : circuit.restsUntil - now();
      if (wait > 0 || circuit.probing) {
        return { ok: false, failures: circuit.failures, retryInMs: Math.max(wait, 0) };
      }
      const probe = circuit.restsUntil !== null;
      circuit.probing = probe;
      return {
        ok: true,
        pass: {
          settle(outcome) {
            if (probe) circuit.probing = false;
            if (outcome === "worked") circuits.delete(tool);
            else if (outcome === "failed") fail(tool);
          },
        },
      };
    },
  };

  function fail(tool: string): void {
    // Looked up again: a call beside this one may have failed too, or closed the circuit, meanwhile.
    const circuit = findCircuit(tool);
    circuit.failures += 1;
    if (circuit.failures >= limit) circuit.restsUntil = now() + restMs;
    circuits.delete(tool);
    circuits.set(tool, circuit);
    const oldest = circuits.keys().next();
    if (circuits.size > most && !oldest.done) circuits.delete(oldest.value);
  }
}
