import { join } from "node:path";
import type { Redis } from "ioredis";
import type { Masker } from "../agent/masker.ts";
import { collectorHeaders } from "../config/collector-headers.ts";
import type { Config } from "../config/load.ts";
import { type AuditEvent, toAuditFact } from "./audit/fact.ts";
import { AuditBusy, moveToFiles } from "./audit/files.ts";
import { openAuditLog, readAuditHead } from "./audit/log.ts";
import { auditObserver } from "./audit/observer.ts";
import type { Logger } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import { observeAll, type Observer } from "./observer.ts";
import type { Traces } from "./traces.ts";
import { turnLogObserver } from "./turn-log.ts";

export interface Telemetry {
  /** Wraps what is to be looked at. */
  readonly observe: Required<Observer>;
  /** Where somebody can ask for them. */
  readonly metrics: Metrics | undefined;
  /** Writes into the audit log what no contract shows; nobody waits for it. */
  audit(event: AuditEvent): void;
  /** Writes and sends what is left. */
  close(): Promise<void>;
}

export interface TelemetryOptions {
  config: Config;
  redis: Redis;
  masker: Masker;
  log: Logger;
  /** Whether this process answers to `/metrics`. */
  measures: boolean;
}

/** Opens what looks on in this process, as it is configured. What is off is not loaded. */
export async function openTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const { redis, masker, log } = options;
  const metrics = options.measures ? (await import("./metrics.ts")).createMetrics(redis) : undefined;
  const traces = await loadTraces(options);
  const onProblem = (problem: string, error: unknown) => log.error({ err: error }, problem);
  const audit = openAuditLog(redis, Date.now, onProblem);
  const observers: Observer[] = [
    turnLogObserver(log),
    ...(metrics ? [metrics.observer] : []),
    auditObserver({ log: audit, mask: (text) => masker.mask(text) }),
    // Outermost, so that its spans hold all the others' time.
    ...(traces ? [traces.observer] : []),
  ];
  return {
    observe: observeAll(observers),
    metrics,
    audit: (event) => void audit.note(toAuditFact(event)),
    async close() {
      metrics?.close();
      await audit.close();
      await traces?.close();
    },
  };
}

async function loadTraces({ config, masker, log }: TelemetryOptions): Promise<Traces | undefined> {
  const {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: whole,
    OTEL_EXPORTER_OTLP_HEADERS: headers,
    OTEL_SERVICE_NAME: service,
  } = config.environment;
  const url = whole ?? (endpoint && `${endpoint.replace(/\/$/, "")}/v1/traces`);
  if (!url) return undefined;
  const { openTraces } = await import("./traces.ts");
  return openTraces({
    url,
    headers: collectorHeaders(headers),
    service,
    content: config.settings.telemetry.traceContent ? (text) => masker.mask(text) : undefined,
    log,
  });
}

/** Where the audit log of past days is. */
export function auditFolder({ settings, dataDir }: Config): string {
  return settings.telemetry.auditFolder ?? join(dataDir, "audit");
}

const moveEveryMs = 3_600_000;

/**
 * Moves the audit log of past days to files, and tells its head to the program's log: wherever that goes, the
 * head there proves later that nothing before it was changed. Returns how to end it.
 */
export function startAuditArchiving(redis: Redis, config: Config, log: Logger): () => void {
  let ended = false;
  const keep = async () => {
    try {
      const moved = await moveToFiles(redis, auditFolder(config), Date.now());
      const { n, hash } = await readAuditHead(redis);
      if (n > 0) log.info({ moved, head: `${n}:${hash}` }, "the audit log is kept");
    } catch (error) {
      // Whoever ends closes Redis next; the entries stay where they are until the next start.
      if (!(ended || error instanceof AuditBusy))
        log.error({ err: error }, "the audit log could not be moved to files");
    }
  };
  void keep();
  const timer = setInterval(() => void keep(), moveEveryMs).unref();
  return () => {
    ended = true;
    clearInterval(timer);
  };
}
