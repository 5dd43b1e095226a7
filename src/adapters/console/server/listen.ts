import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { z } from "zod";
import type { Finding } from "../../../chat/adapter.ts";
import { findUnsafeSettings } from "./auth-guard.ts";

/** Begins to listen and returns the port. @throws Error with a sentence for the operator */
export async function listen(server: Server, port: number, host: string): Promise<number> {
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (cause) {
    throw new Error(await explain(cause, host, port), { cause });
  }
  const address = server.address();
  return typeof address === "object" && address ? address.port : port;
}

/** Whether the console could listen there. It can be asked while it does. @param options.instance who asks */
export async function checkConsole(options: {
  host: string;
  port: number;
  token: string | undefined;
  /** Whether people sign in at a provider. */
  hasProvider: boolean;
  instance: string;
}): Promise<Finding> {
  const { host, port, token, hasProvider, instance } = options;
  const unsafe = findUnsafeSettings(host, token, hasProvider);
  if (unsafe) return { level: "error", text: unsafe };
  if (port === 0) return { level: "ok", text: `HEDDLE_PORT is 0, which takes a free port of ${host}` };
  const place = `${host}:${port}`;
  const server = createServer();
  try {
    await listen(server, port, host);
    return { level: "ok", text: `${place} is free` };
  } catch (error) {
    if ((await findHeddle(host, port))?.instance === instance)
      return { level: "ok", text: `${place} is served by this Heddle, which is running` };
    return { level: "error", text: error instanceof Error ? error.message : String(error) };
  } finally {
    server.close();
  }
}

async function explain(cause: unknown, host: string, port: number): Promise<string> {
  const why = cause instanceof Error && "code" in cause ? String(cause.code) : String(cause);
  const what = `The console cannot listen on ${host}:${port}`;
  if (why !== "EADDRINUSE") return `${what} (${why}): correct HEDDLE_HOST or HEDDLE_PORT.`;
  const other = (await findHeddle(host, port)) ? "another Heddle" : "another program";
  return `${what}, because ${other} does: end it, or set HEDDLE_PORT to a free port.`;
}

const probeSchema = z.looseObject({ alive: z.literal(true), instance: z.string().optional() });

/** Longer than a console needs to answer, ms; whatever else listens there may never do so. */
const patienceMs = 1_000;

/** The Heddle that listens there; `instance` is missing where an older one does not say it. */
async function findHeddle(host: string, port: number): Promise<z.infer<typeof probeSchema> | undefined> {
  try {
    const signal = AbortSignal.timeout(patienceMs);
    const answer = await fetch(`http://${nameOf(host)}:${port}/healthz`, { signal, redirect: "manual" });
    const said = probeSchema.safeParse(await answer.json());
    return said.data;
  } catch {
    return undefined;
  }
}

/** A name by which a browser on this machine reaches the console. */
export function nameOf(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}
