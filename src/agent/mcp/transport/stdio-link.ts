import { untilAborted } from "../../until-aborted.ts";
import type { ServiceHost } from "../../../sandbox/service.ts";
import type { EnabledServer, StdioEndpoint } from "../config.ts";
import { type Link, type LinkEvents, type ServerEra, withoutOwnTimeout } from "./link.ts";
import { startSandboxed } from "./sandboxed-process.ts";
import { createSessionClient } from "./session-client.ts";
import { createStatelessClient, statelessVersion } from "./stateless-client.ts";
import { createStdioTransport } from "./stdio.ts";
import { startUnconfined } from "./unconfined-process.ts";

/** One way to speak with a server process, from its start to its end. */
interface Attempt extends Pick<Link, "client" | "follow" | "ended" | "explain" | "close"> {
  handshake(signal: AbortSignal): Promise<void>;
  /** Whether it has answered anything. */
  answered(): boolean;
}

/**
 * A link to a server process. It is greeted (`initialize`) as all of older versions want it, since some of those end at
 * any request before. One that answers with anything but the handshake is started anew and asked for 2026-07-28
 * (`server/discover`): with which error a server that speaks nothing else refuses `initialize` is its own choice.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#compatibility-matrix
 *
 * @param options.era which of the two has worked with it before, so that it is started once; kept up to date here
 */
export function createStdioLink(
  { name }: Pick<EnabledServer, "name">,
  endpoint: StdioEndpoint,
  options: { version: string; sandboxes?: ServiceHost | undefined; era: ServerEra },
  events: LinkEvents,
): Link {
  const { era } = options;
  const open = () => openAttempt(name, endpoint, { ...options, isStateless: era.isStateless }, events);
  let current = open();
  /** How it has refused to be greeted, while nothing better is known. */
  let refusal: string | undefined;

  async function greet(signal: AbortSignal): Promise<void> {
    try {
      return await current.handshake(signal);
    } catch (error) {
      if (signal.aborted || !current.answered()) throw error;
      refusal = current.explain(error);
      await current.close();
    }
    // A time limit that ends the second start does not show that it was of no use.
    era.isStateless = true;
    current = open();
    await discover(signal, { forget: () => !signal.aborted });
    refusal = undefined;
  }

  async function discover(signal: AbortSignal, { forget }: { forget(): boolean }): Promise<void> {
    try {
      signal.throwIfAborted();
      await current.handshake(signal);
    } catch (error) {
      if (forget()) era.isStateless = false;
      throw error;
    }
  }

  return {
    get client() {
      return current.client;
    },
    connect: (signal) => (era.isStateless ? discover(signal, { forget: () => true }) : greet(signal)),
    mirrorsArguments: () => false,
    follow: () => current.follow(),
    ended: () => current.ended(),
    explain(error) {
      if (refusal === undefined) return current.explain(error);
      return current.answered()
        ? refusal
        : `${refusal}; started anew and asked for ${statelessVersion}: ${current.explain(error)}`;
    },
    close: () => current.close(),
  };
}

function openAttempt(
  name: string,
  endpoint: StdioEndpoint,
  { version, sandboxes, isStateless }: { version: string; sandboxes?: ServiceHost | undefined } & ServerEra,
  events: LinkEvents,
): Attempt {
  const { access } = endpoint;
  const transport = createStdioTransport(
    access === "none" ? startUnconfined(endpoint) : startSandboxed({ ...endpoint, name, access }, sandboxes),
  );
  const common = {
    answered: () => transport.answered(),
    explain: (error: unknown) => transport.explain(error),
    close: () => transport.close(),
  };
  if (isStateless) {
    const { client, ended, follow } = createStatelessClient(
      transport,
      { version, mode: { pin: statelessVersion } },
      events,
    );
    const handshake = (signal: AbortSignal) =>
      untilAborted(client.connect(transport, { signal, ...withoutOwnTimeout }), signal);
    return { ...common, client, ended, follow, handshake };
  }
  const { client, ended } = createSessionClient(transport, { version }, events);
  const handshake = (signal: AbortSignal) =>
    untilAborted(client.connect(transport, { signal, ...withoutOwnTimeout }), signal);
  return { ...common, client, ended, handshake, follow: async () => {} };
}
