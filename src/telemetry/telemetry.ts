import { join } from "node:path";
import type { Redis } from "ioredis";
import type { Masker } from "../agent/secrets/masker.ts";
import { collectorHeaders } from "../config/collector-headers.ts";
import type { Config } from "../config/load.ts";
import { type AuditEvent, toAuditFact } from "./audit/fact.ts";
import { noteAnchor, readAnchor } from "./audit/anchor.ts";
import { AuditBusy, moveToFiles } from "./audit/files.ts";
import { type AuditKey, openAuditKey } from "./audit/key.ts";
import { type AuditLog, openAuditLog, readAuditHead } from "./audit/log.ts";
import { auditObserver } from "./audit/observer.ts";
import { createPeopleSeals } from "./audit/people.ts";
import { createAuditProblems } from "./audit/problems.ts";
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
  /** The same before something that must not be done without: resolves when it is there. @throws what Redis answers */
  auditFirst(event: AuditEvent): Promise<void>;
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
  const audit = await openConfiguredAudit(options, metrics);
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
    auditFirst: (event) => audit.append(toAuditFact(event), true),
    async close() {
      metrics?.close();
      await audit.close();
      await traces?.close();
    },
  };
}

async function openConfiguredAudit(
  { config, redis, log }: TelemetryOptions,
  metrics: Metrics | undefined,
): Promise<AuditLog> {
  const problems = createAuditProblems(redis, "writing", Date.now);
  const { key, known } = await readProofs(config, log);
  return openAuditLog(
    redis,
    Date.now,
    (problem, error) => log.error({ ...(error !== undefined && { err: error }) }, problem),
    {
      ...{ key, known, people: createPeopleSeals(redis, Date.now) },
      required: config.settings.telemetry.auditRequired,
      onHealth(health) {
        metrics?.auditHealth(health);
        const { failingSince, why, waiting, lost } = health;
        if (failingSince === undefined) {
          log.info({ waiting, lost }, "the audit log is written again");
          void problems.clear();
        } else void problems.note(`${why} (${waiting} facts wait in memory, ${lost} are lost)`);
      },
    },
  );
}

/** The log is better written without a key than not at all. */
async function readProofs({ dataDir, environment, settings }: Config, log: Logger) {
  let key: AuditKey | undefined;
  try {
    key = await openAuditKey(dataDir, environment.HEDDLE_AUDIT_KEY);
    return { key, known: (await readAnchor(settings.telemetry.auditFolder ?? join(dataDir, "audit")))?.head };
  } catch (error) {
    const problem = key
      ? "The anchor of the audit log could not be read."
      : "The key of the audit log could not be read or made in the data folder, so entries are not keyed: set HEDDLE_AUDIT_KEY.";
    log.error({ err: error }, problem);
    return { key, known: undefined };
  }
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
const anchorEveryMs = 60_000;

/**
 * Moves the audit log of past days to files every hour, and tells its head to the program's log: wherever that goes,
 * the head there proves later that nothing before it was changed. The head is noted in the folder every minute.
 * Returns how to end it.
 */
export function startAuditArchiving(redis: Redis, config: Config, log: Logger): () => void {
  const folder = auditFolder(config);
  const every = (what: "archiving" | "anchoring", ms: number, work: () => Promise<void>) => {
    const problems = createAuditProblems(redis, what, Date.now);
    return runEvery(ms, work, {
      failed(error) {
        if (problems.isNoted) return;
        log.error({ err: error }, `the audit log's ${what} failed`);
        void problems.note(error instanceof Error ? error.message : String(error));
      },
      worked: () => void (problems.isNoted && problems.clear()),
    });
  };
  const endAnchoring = every("anchoring", anchorEveryMs, async () => {
    const contradiction = await noteAnchor(redis, folder);
    if (contradiction) throw new Error(`${contradiction} heddle audit verify says more.`);
  });
  const endArchiving = every("archiving", moveEveryMs, async () => {
    const moved = await moveToFiles(redis, folder, Date.now());
    const { n, hash } = await readAuditHead(redis);
    if (n > 0) log.info({ moved, head: `${n}:${hash}` }, "the audit log is kept");
  });
  return () => {
    endAnchoring();
    endArchiving();
  };
}

function runEvery(
  ms: number,
  work: () => Promise<void>,
  { failed, worked }: { failed(error: unknown): void; worked(): void },
): () => void {
  let ended = false;
  const once = async () => {
    try {
      await work();
      worked();
    } catch (error) {
      // Whoever ends closes Redis next; the entries stay where they are until the next start.
      if (!(ended || error instanceof AuditBusy)) failed(error);
    }
  };
  let working: Promise<void> | undefined;
  // Those that wait for a lost Redis would go on together when it is back, and get in each other's way.
  const begin = () => void (working ??= once().finally(() => (working = undefined)));
  begin();
  const timer = setInterval(begin, ms).unref();
  return () => {
    ended = true;
    clearInterval(timer);
  };
}
