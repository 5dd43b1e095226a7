import type { Server, ServerOptions } from "node:http";

/**
 * Bounds of a server for requests of platforms and other services. Whoever reaches its port can send without a signature,
 * which is checked once the whole body is there: the bounds are what that may cost.
 */

/** In bytes. */
export const largestInboundBody = 1_048_576;

const mostConnections = 256;
/** How long a request may take to arrive, ms. */
const arrivalMs = 10_000;
/** How often that is looked at, ms. */
const checkMs = 1_000;

/** To be given to the server when it is made. */
export const inboundServerOptions: ServerOptions = {
  requestTimeout: arrivalMs,
  headersTimeout: arrivalMs,
  connectionsCheckingInterval: checkMs,
};

export function limitConnections(server: Server): void {
  server.maxConnections = mostConnections;
}
