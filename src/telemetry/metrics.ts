import type { Redis } from "ioredis";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { nameEnding } from "../agent/silence.ts";
import { type ConnectionChange, connections, type Reconnect, reconnects } from "../chat/adapter.ts";
import type { InboundEvent } from "../chat/inbound.ts";
import { SurfaceError } from "../chat/surface.ts";
import { silences } from "../queue/redis/silence.ts";
import { createMeasuredModel } from "./measured-model.ts";
import { createMeasuredSandbox } from "./measured-sandbox.ts";
import type { AuditHealth } from "./audit/log.ts";
import type { Observer } from "./observer.ts";
import { registerSharedGauges } from "./shared-gauges.ts";

/** Figures about this process, and at the time of asking about all; see docs/telemetry.md for each. */
export interface Metrics {
  readonly observer: Observer;
  /** How writing the audit log goes. */
  auditHealth(health: AuditHealth): void;
  /** How the configuration of this process stands. */
  configuration(state: { at: number; problem?: string; restart: readonly string[] }): void;
  readonly contentType: string;
  /** The figures in Prometheus' text format. */
  render(): Promise<string>;
  close(): void;
}

/** Seconds; a call of a model takes from tenths of a second to minutes. */
const buckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600];
const fastBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function createMetrics(redis: Redis): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers });
  const histogram = <Label extends string>(name: string, help: string, labelNames: Label[], of = buckets) =>
    new Histogram({ name, help, labelNames, registers, buckets: of });

  const events = counter("heddle_events_total", "What people did, by what became of it.", [
    "platform",
    "kind",
    "verdict",
  ]);
  const turns = counter("heddle_turns_total", "Turns that ended.", ["outcome"]);
  const turnSeconds = histogram("heddle_turn_duration_seconds", "From a turn's start to its end.", [
    "outcome",
  ]);
  const steps = counter("heddle_steps_total", "Steps of turns that ended.", []);
  const stopSeconds = histogram(
    "heddle_stop_duration_seconds",
    "From a stop order to the last process gone.",
    [],
    fastBuckets,
  );
  const killed = counter("heddle_sandbox_killed_processes_total", "Processes that a stop has ended.", []);
  const survivors = counter("heddle_sandbox_survivors_total", "Processes that were alive after a stop.", []);
  const tools = counter("heddle_tool_calls_total", "Calls of tools, by how they ended.", ["tool", "status"]);
  const toolSeconds = histogram("heddle_tool_duration_seconds", "How long tools ran.", ["tool"]);
  const observeDisplay = createDisplayMetrics({
    turns,
    turnSeconds,
    steps,
    stopSeconds,
    killed,
    survivors,
    tools,
    toolSeconds,
  });
  const rateLimits = counter("heddle_rate_limits_total", "Writes that a platform put off.", ["platform"]);
  const reconnected = counter("heddle_reconnects_total", "Connections to a platform that were made anew.", [
    "platform",
  ]);
  const silent = counter("heddle_redis_silences_total", "Connections to Redis given up as silent.", []);
  const connected = new Gauge({
    name: "heddle_connections",
    help: "Connections to a platform over which events arrive.",
    labelNames: ["platform"],
    registers: [registry],
  });
  const unsubscribe = countConnections(reconnected, silent, connected);
  const readAll = registerSharedGauges(registry, redis);

  const observer: Observer = {
    intake: (observed) => ({
      async receive(event) {
        const result = await observed.receive(event);
        events.inc({ platform: readPlatform(event), kind: event.kind, verdict: result.kind });
        return result;
      },
    }),
    display: observeDisplay,
    output: (output) => ({
      write(surface, channel, urgency, signal, write, lane) {
        const countRefusals = async () => {
          try {
            return await write();
          } catch (error) {
            if (error instanceof SurfaceError && error.kind === "rate-limited") {
              rateLimits.inc({ platform: surface.platform });
            }
            throw error;
          }
        };
        return output.write(surface, channel, urgency, signal, countRefusals, lane);
      },
    }),
    model: createMeasuredModel({
      calls: counter("heddle_model_calls_total", "Calls of models, by how they ended.", ["model", "result"]),
      retries: counter("heddle_model_retries_total", "Attempts after the first.", ["model"]),
      seconds: histogram("heddle_model_call_duration_seconds", "Calls of models, retries included.", [
        "model",
      ]),
      tokens: counter("heddle_model_tokens_total", "Tokens, by what they are charged as.", ["model", "type"]),
      dollars: counter("heddle_model_cost_dollars_total", "List price of the tokens.", ["model"]),
    }),
    sandbox: createMeasuredSandbox({
      commands: counter("heddle_sandbox_commands_total", "Commands, by what ended them.", ["end"]),
      jobs: counter("heddle_sandbox_jobs_total", "Background jobs that were started.", []),
    }),
  };

  return {
    observer,
    ...createStateMetrics(registry),
    contentType: registry.contentType,
    async render() {
      await readAll();
      return await registry.metrics();
    },
    close: unsubscribe,
  };
}

function createStateMetrics(registry: Registry): Pick<Metrics, "auditHealth" | "configuration"> {
  return { auditHealth: createAuditMetrics(registry), configuration: createConfigurationMetrics(registry) };
}

function createConfigurationMetrics(registry: Registry): Metrics["configuration"] {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] });
  const since = gauge("heddle_configuration_timestamp_seconds", "Since when the configuration is in force.");
  const refused = gauge("heddle_configuration_refused", "1 while the files say what is not in force.");
  const restart = gauge("heddle_configuration_restart_needed", "Changed settings that wait for a restart.");
  return (state) => {
    since.set(state.at / 1_000);
    refused.set(state.problem === undefined ? 0 : 1);
    restart.set(state.restart.length);
  };
}

/** Counts what others publish. Returns how to end it. */
function countConnections(
  reconnected: Counter<"platform">,
  silent: Counter,
  connected: Gauge<"platform">,
): () => void {
  // Only adapters publish there.
  const onReconnect = (message: unknown) => reconnected.inc({ platform: (message as Reconnect).platform });
  const onSilence = () => silent.inc();
  const onConnection = (message: unknown) => {
    const { platform, isConnected } = message as ConnectionChange;
    // A figure of 0 is one that an alert finds.
    const by = isConnected ? 1 : -1;
    connected.inc({ platform }, isConnected === undefined ? 0 : by);
  };
  reconnects.subscribe(onReconnect);
  silences.subscribe(onSilence);
  connections.subscribe(onConnection);
  return () => {
    reconnects.unsubscribe(onReconnect);
    silences.unsubscribe(onSilence);
    connections.unsubscribe(onConnection);
  };
}

function createAuditMetrics(registry: Registry): (health: AuditHealth) => void {
  const registers = [registry];
  const failures = new Counter({
    name: "heddle_audit_failures_total",
    help: "Failed attempts to write the audit log.",
    registers,
  });
  const facts = new Gauge({
    name: "heddle_audit_waiting_facts",
    help: "Facts that are not in the audit log yet.",
    registers,
  });
  const lostFacts = new Gauge({
    name: "heddle_audit_lost_facts",
    help: "Facts that did not fit into memory.",
    registers,
  });
  return ({ failingSince, waiting, lost }) => {
    if (failingSince !== undefined) failures.inc();
    facts.set(waiting);
    lostFacts.set(lost);
  };
}

interface TurnFigures {
  turns: Counter<"outcome">;
  turnSeconds: Histogram<"outcome">;
  steps: Counter;
  stopSeconds: Histogram;
  killed: Counter;
  survivors: Counter;
  tools: Counter<"tool" | "status">;
  toolSeconds: Histogram<"tool">;
}

/** Counts what turns show. */
function createDisplayMetrics(figures: TurnFigures): NonNullable<Observer["display"]> {
  const { turns, turnSeconds, steps, stopSeconds, killed, survivors, tools, toolSeconds } = figures;
  const toolName = limitLabels(200);
  return (display) => ({
    ...display,
    event(event) {
      const call = event.type === "helper" ? event.event : event;
      if (call.type === "tool-end") {
        const tool = toolName(call.message.name);
        tools.inc({ tool, status: call.message.status });
        toolSeconds.observe({ tool }, call.durationMs / 1_000);
      }
      display.event(event);
    },
    closing(receipt) {
      const outcome = nameEnding(receipt.outcome);
      turns.inc({ outcome });
      turnSeconds.observe({ outcome }, receipt.durationMs / 1_000);
      steps.inc(receipt.outcome.steps);
      if (receipt.stopMs !== undefined) stopSeconds.observe(receipt.stopMs / 1_000);
      killed.inc(receipt.killed?.processes ?? 0);
      survivors.inc(receipt.killed?.survivors ?? 0);
      return display.closing(receipt);
    },
  });
}

function readPlatform(event: InboundEvent): string {
  if (event.kind !== "stop") return event.thread.platform;
  return "thread" in event.target ? event.target.thread.platform : event.target.message.platform;
}

/** A model may call tools by any name, and each label costs memory for ever. */
function limitLabels(most: number): (name: string) => string {
  const known = new Set<string>();
  return (name) => {
    if (known.size < most) known.add(name);
    return known.has(name) ? name : "other";
  };
}
