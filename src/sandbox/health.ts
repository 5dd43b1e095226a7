import type { Probe, SandboxBackend } from "./sandbox.ts";

/** A back end and what its last probe found. */
export interface SandboxHealth {
  readonly backend: SandboxBackend;
  readonly probe: Probe;
  /** To be called when a turn begins: a probe that failed is repeated, as what made it fail may have passed. */
  refresh(): Promise<Probe>;
}

/** A failed probe is repeated no more often than this. */
const retryMs = 60_000;

/**
 * Tells the log what is in force, and probes again what failed.
 * @param options.probe the back end's first probe, which may be under way; by default it begins now
 */
export async function monitorSandbox(
  backend: SandboxBackend,
  log: Record<"info" | "warn", (line: string) => void>,
  { now = Date.now, probe: first = backend.probe() }: { now?(): number; probe?: Promise<Probe> } = {},
): Promise<SandboxHealth> {
  const look = async (looking: Promise<Probe>): Promise<Probe> => {
    const found = await looking;
    log.info(`Sandbox: ${found.summary}`);
    for (const { what, fix } of found.problems) log.warn(`Sandbox: ${what} ${fix}`);
    return found;
  };
  let probe = await look(first);
  let probedAt = now();
  let probing: Promise<Probe> | undefined;
  return {
    backend,
    get probe() {
      return probe;
    },
    async refresh() {
      if (probe.ok || (probing === undefined && now() - probedAt < retryMs)) return probe;
      probing ??= look(backend.probe()).finally(() => (probing = undefined));
      probe = await probing;
      probedAt = now();
      return probe;
    },
  };
}
