import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Dialled } from "./dial.ts";
import type { Dialer } from "./dialer.ts";
import type { Meter } from "./meter.ts";

/** A plain request of the sandbox, and what it takes to send it on. */
export interface Relay {
  incoming: IncomingMessage;
  answer: ServerResponse;
  dialer: Dialer;
  dial(host: string, port: number): Promise<Dialled>;
  meter(what: string, remote: Socket): Meter;
}
