import type { Probe, SandboxBackend } from "./sandbox.ts";

/** A back end and what its last probe found. */
export interface SandboxHealth {
  readonly backend: SandboxBackend;
  /** The last one that has ended. Waits for the first, which is under way when the process starts. */
  probe(): Promise<Probe>;
  /** To be called when a turn begins: a probe that failed is repeated, as what made it fail may have passed. */
  refresh(): Promise<Probe>;
}

/** A failed probe is repeated no more often than this. */
const retryMs = 60_000;

/**
 * Tells the log what is in force, and probes again what failed.
 * @param options.probe the back end's first probe, which may be under way; by default it begins now
 */
export function monitorSandbox(
  backend: SandboxBackend,
  log: Record<"info" | "warn", (line: string) => void>,
  { now = Date.now, probe: first = backend.probe() }: { now?(): number; probe?: Promise<Probe> } = {},
): SandboxHealth {
  let probedAt = now();
  const look = async (looking: Promise<Probe>): Promise<Probe> => {
    const found = await looking;
    probedAt = now();
    log.info(`Sandbox: ${found.summary}`);
    for (const { what, fix } of found.problems) log.warn(`Sandbox: ${what} ${fix}`);
    return found;
  };
  let latest = look(first);
  // Whoever needs it hears of it; a command that ends before may need none.
  latest.catch(() => undefined);
  let probing: Promise<Probe> | undefined;
  return {
    backend,
    probe: () => latest,
    async refresh() {
      const probe = await latest;
      if (probe.ok || (probing === undefined && now() - probedAt < retryMs)) return probe;
      probing ??= look(backend.probe()).finally(() => (probing = undefined));
      const found = await probing;
      latest = Promise.resolve(found);
      return found;
    },
  };
}
