import { setTimeout as sleep } from "node:timers/promises";
import type { BaseLogger } from "pino";
import { EnvHttpProxyAgent } from "undici";
import { namesProxy } from "../../../agent/network/proxy-environment.ts";
import { type Reconnect, reconnects } from "../../../chat/adapter.ts";
import { createSlackTokenError } from "../installation/check.ts";
import { SocketModeReceiver } from "./bolt-modules.ts";
import { type EventTransport, logUnacknowledged } from "./transport.ts";
import { clientOptions, type SlackServer } from "./web.ts";

type SocketModeClient = InstanceType<typeof SocketModeReceiver>["client"];

/**
 * Slack renews connections as it likes, and one that it has greeted may be opened again at once; but not without end,
 * as something between us and Slack may cut each of them.
 */
const renewals = { most: 12, withinMs: 60_000 };
const firstRetryMs = 250;
const longestRetryMs = 30_000;
/** Slack says hello at once. The client itself would wait for it for as long as the other side answers its pings. */
const helloMs = 8_000;

/** Events over a WebSocket that we open: nothing on our side needs to be reachable. */
export function openSocketTransport(access: SlackServer, appToken: string): EventTransport {
  const sdk = clientOptions(access);
  const receiver = new SocketModeReceiver({
    appToken,
    logger: sdk.logger,
    autoReconnectEnabled: false,
    // The library knows no proxy of its own. A socket goes through a tunnel, and over HTTP/1.1.
    ...(namesProxy(process.env) && {
      dispatcher: new EnvHttpProxyAgent({ allowH2: false, proxyTunnel: true }),
    }),
    installerOptions: { clientOptions: { ...sdk, timeout: 10_000, retryConfig: { retries: 0 } } },
    processEventErrorHandler: async ({ error }) => {
      logUnacknowledged(access.log, error);
      return false;
    },
  });
  const { client } = receiver;
  const closing = new AbortController();
  let ended: Promise<void> | undefined;
  return {
    receiver,
    async open({ connected, disconnected }) {
      client.on("connected", connected);
      client.on("disconnected", disconnected);
      try {
        ({ ended } = await keepConnected(client, closing.signal, access.log));
      } catch (error) {
        throw createSlackTokenError("SLACK_APP_TOKEN", error);
      }
    },
    // Acknowledgements go out on the connection, so it is closed last.
    async close(finish) {
      await finish();
      closing.abort();
      await ended;
    },
  };
}

/**
 * Keeps the connection of a client that has `autoReconnectEnabled` off, until the signal. The client's own
 * reconnecting is not used: it waits five seconds at every rotation of Slack's connections (stops would be
 * late), gives up on network errors, and leaves rejections unhandled, which end the process
 * (https://github.com/slackapi/node-slack-sdk/issues/2656).
 *
 * Resolves when the first connection is up, with the end of it all; rejects when it cannot be made.
 */
async function keepConnected(
  client: SocketModeClient,
  signal: AbortSignal,
  log: BaseLogger,
): Promise<{ ended: Promise<void> }> {
  signal.addEventListener("abort", () => void client.disconnect(), { once: true });
  await connect(client, signal);
  return { ended: reconnect(client, signal, log) };
}

async function connect(client: SocketModeClient, signal: AbortSignal): Promise<void> {
  let late: NodeJS.Timeout | undefined;
  const address = () => {
    late = setTimeout(() => void client.disconnect(), helloMs);
  };
  client.once("authenticated", address);
  try {
    await client.start();
  } catch (error) {
    // The library rejects with nothing when the socket closes before Slack says hello.
    throw error ?? new Error("Slack closed the new connection, or did not say hello on it");
  } finally {
    client.off("authenticated", address);
    clearTimeout(late);
  }
  // start() forgets a disconnect() that came while it asked for an address.
  if (signal.aborted) await client.disconnect();
}

async function reconnect(client: SocketModeClient, signal: AbortSignal, log: BaseLogger): Promise<void> {
  let failures = 0;
  let ends: number[] = [];
  while (!signal.aborted) {
    // Also when the other side is silent: the client gives up a connection on which pings stay unanswered for 5 s.
    await new Promise((resolve) => client.once("disconnected", resolve));
    if (!signal.aborted) reconnects.publish({ platform: "slack" } satisfies Reconnect);
    ends = [...ends, Date.now()].filter((at) => at > Date.now() - renewals.withinMs);
    failures = ends.length <= renewals.most ? 0 : failures + 1;
    for (let isConnected = false; !isConnected; ) {
      await pause(failures, signal);
      if (signal.aborted) return;
      try {
        await connect(client, signal);
        isConnected = true;
      } catch (error) {
        failures += 1;
        if (!signal.aborted)
          log.error(`There is no connection to Slack (${String(error)}); Heddle will retry.`);
      }
    }
  }
}

async function pause(failures: number, signal: AbortSignal): Promise<void> {
  if (failures === 0) return;
  const longest = Math.min(longestRetryMs, firstRetryMs * 2 ** (failures - 1));
  // Half of the back-off is random, so that several gateways do not reconnect at the same moment.
  await sleep(longest / 2 + (Math.random() * longest) / 2, undefined, { signal }).catch(() => undefined);
}
