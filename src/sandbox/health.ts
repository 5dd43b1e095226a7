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

/** Probes the back end, and tells the log what is in force. */
export async function monitorSandbox(
  backend: SandboxBackend,
  log: Record<"info" | "warn", (line: string) => void>,
  now: () => number,
): Promise<SandboxHealth> {
  const look = async (): Promise<Probe> => {
    const found = await backend.probe();
    log.info(`Sandbox: ${found.summary}`);
    for (const { what, fix } of found.problems) log.warn(`Sandbox: ${what} ${fix}`);
    return found;
  };
  let probe = await look();
  let probedAt = now();
  let probing: Promise<Probe> | undefined;
  return {
    backend,
    get probe() {
      return probe;
    },
    async refresh() {
      if (probe.ok || (probing === undefined && now() - probedAt < retryMs)) return probe;
      probing ??= look().finally(() => (probing = undefined));
      probe = await probing;
      probedAt = now();
      return probe;
    },
  };
}
