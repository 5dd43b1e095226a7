import type { Probe, SandboxBackend } from "./sandbox.ts";

/** A back end and what its last probe found. */
export interface WatchedSandbox {
  readonly backend: SandboxBackend;
  readonly probe: Probe;
  /** To be called when a turn begins: a probe that failed is repeated, as what made it fail may have passed. */
  refresh(): Promise<Probe>;
}

/** A failed probe is repeated no more often than this. */
const retryMs = 60_000;

export async function watchSandbox(backend: SandboxBackend, now: () => number): Promise<WatchedSandbox> {
  let probe = await backend.probe();
  let probedAt = now();
  let probing: Promise<Probe> | undefined;
  return {
    backend,
    get probe() {
      return probe;
    },
    async refresh() {
      if (probe.ok || (probing === undefined && now() - probedAt < retryMs)) return probe;
      probing ??= backend.probe().finally(() => (probing = undefined));
      probe = await probing;
      probedAt = now();
      return probe;
    },
  };
}
