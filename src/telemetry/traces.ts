import { diag, DiagLogLevel, SpanKind, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { BatchSpanProcessor, NodeTracerProvider, type TracerConfig } from "@opentelemetry/sdk-trace-node";
import { SurfaceError } from "../chat/surface.ts";
import { createRareSentences } from "../queue/redis/rare-sentences.ts";
import type { Logger } from "./log.ts";
import type { Observer } from "./observer.ts";
import { contextBehind, formatTraceparent } from "./trace-context.ts";
import { type Content, mostContent } from "./trace-messages.ts";
import { turnSpans } from "./turn-spans.ts";

export interface TracesOptions {
  /** Of the collector, with its path. */
  url: string;
  headers: Record<string, string>;
  service: string;
  /** What people and models wrote, masked; undefined keeps it out. */
  content: Content | undefined;
  log: Pick<Logger, "warn">;
  /** How long a collector that does not answer is tried, in milliseconds. Default 5,000. */
  sendMs?: number;
}

export interface Traces {
  readonly observer: Observer;
  /** Sends what is left, for at most `sendMs`. */
  close(): Promise<void>;
}

/** How long a finished span waits for others to be sent with. */
const gatherMs = 1_000;
/**
 * One trace from the event at intake over the turn, its model calls and its tools to the post, across processes:
 * the context travels with the message through Redis, and back with what the turn posts. To be imported only where
 * traces are wanted, as the libraries are large.
 */
export function openTraces(options: TracesOptions): Traces {
  const { url, headers, service, content, log, sendMs = 5_000 } = options;
  const isDue = createRareSentences();
  const warn = (problem: string) => {
    if (isDue(problem)) log.warn({ detail: problem }, "traces could not be sent");
  };
  const quiet = () => undefined;
  diag.setLogger(
    { error: warn, warn, info: quiet, debug: quiet, verbose: quiet },
    { logLevel: DiagLogLevel.WARN },
  );
  const exporter = new OTLPTraceExporter({ url, headers, timeoutMillis: sendMs });
  const provider = new NodeTracerProvider({
    resource: describeResource(service),
    spanProcessors: [
      new BatchSpanProcessor(exporter, { scheduledDelayMillis: gatherMs, exportTimeoutMillis: sendMs }),
    ],
    generalLimits: { attributeValueLengthLimit: mostContent },
  });
  const tracer = provider.getTracer("heddle");
  return {
    observer: createTracingObserver(tracer, content),
    async close() {
      await provider.shutdown().catch((error: unknown) => warn(String(error)));
      diag.disable();
    },
  };
}

function createTracingObserver(tracer: Tracer, content: Content | undefined): Observer {
  return {
    intake: (intake) => ({
      async receive(event) {
        const span = tracer.startSpan(`receive ${event.kind}`, { kind: SpanKind.CONSUMER });
        const result = await intake.receive(
          event.kind === "message" ? { ...event, trace: formatTraceparent(span) } : event,
        );
        // What came to nothing is not sent: in a busy channel that is nearly everything.
        if (result.kind === "ignored" || result.kind === "duplicate") return result;
        span.setAttribute("heddle.verdict", result.kind);
        if ("thread" in result) span.setAttribute("gen_ai.conversation.id", result.thread);
        span.end();
        return result;
      },
    }),

    display: (display, thread, turn) => turnSpans(tracer, display, { thread, turn, content }),

    surface: (surface) => ({
      ...surface,
      async post(thread, { trace, ...message }, key, posted) {
        if (!trace) return await surface.post(thread, message, key, posted);
        const span = tracer.startSpan(
          `post ${surface.platform}`,
          { kind: SpanKind.CLIENT, attributes: { "heddle.message.kind": message.kind } },
          contextBehind(trace),
        );
        try {
          return await surface.post(thread, message, key, posted);
        } catch (error) {
          const kind = error instanceof SurfaceError ? error.kind : "unexpected";
          span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute("error.type", kind);
          throw error;
        } finally {
          span.end();
        }
      },
    }),
  };
}

/** Who sends: all that is told of it is the service's name and the process. */
function describeResource(service: string): NonNullable<TracerConfig["resource"]> {
  const attributes = { "service.name": service, "process.pid": process.pid };
  const resource: NonNullable<TracerConfig["resource"]> = {
    attributes,
    merge: () => resource,
    getRawAttributes: () => Object.entries(attributes),
  };
  return resource;
}
