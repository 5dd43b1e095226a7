import type { IncomingHttpHeaders, Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  inboundServerOptions,
  largestInboundBody,
  limitConnections,
} from "../../../chat/inbound-requests.ts";
import { InstallationRefused, type Installations } from "../installation/installations.ts";
import { botScopes, eventsPath, installPath, redirectPath } from "../installation/manifest.ts";
import type { OAuthClient } from "../installation/oauth-client.ts";
import { HTTPReceiver } from "./bolt-modules.ts";
import { type EventTransport, logUnacknowledged } from "./transport.ts";
import { clientOptions, type SlackServer } from "./web.ts";

export interface HttpAddress {
  host: string;
  /** 0 takes a free one. */
  port: number;
}

/** How long the end waits for requests that have not ended, ms. */
const graceMs = 2_000;

/**
 * Events as requests that Slack sends to us through a reverse proxy with https. Bolt checks the signature of
 * each and refuses those older than five minutes; those that name a later time are refused here.
 * https://docs.slack.dev/authentication/verifying-requests-from-slack
 *
 * @param installing lets teams install the app at `/slack/install`
 */
export function openHttpTransport(
  access: SlackServer,
  signingSecret: string,
  { host, port }: HttpAddress,
  installing?: { client: OAuthClient; installations: Installations },
): EventTransport {
  const { log } = access;
  const sdk = clientOptions(access);
  const receiver = new HTTPReceiver({
    signingSecret,
    endpoints: eventsPath,
    // Slack names no size of its requests; the text of a message has 40,000 characters at most
    // (https://docs.slack.dev/reference/methods/chat.postMessage).
    bodyLimit: largestInboundBody,
    logger: sdk.logger,
    ...(installing && {
      clientId: installing.client.clientId,
      clientSecret: installing.client.clientSecret,
      stateSecret: installing.client.stateSecret,
      scopes: [...botScopes],
      installationStore: installing.installations.store,
    }),
    installerOptions: {
      directInstall: true,
      clientOptions: { ...sdk, timeout: 10_000, retryConfig: { retries: 0 } },
      installPath,
      redirectUriPath: redirectPath,
      callbackOptions: {
        failure(error, _options, _request, response) {
          const isRefused = error instanceof InstallationRefused;
          const text = isRefused
            ? error.message
            : `The app was not installed: begin again at ${installPath}.`;
          const type = { "content-type": "text/plain; charset=utf-8" };
          response.writeHead(isRefused ? 403 : 400, type).end(`${text}\n`);
        },
      },
    },
    processEventErrorHandler: async ({ error, response }) => {
      logUnacknowledged(log, error);
      if (!response.headersSent) response.writeHead(500).end();
      return true;
    },
    unhandledRequestHandler: ({ response }) => {
      log.error(
        "Slack was not answered as fast as it asks for: it sends an event again, and a button has to be pressed again.",
      );
      if (!response.headersSent) response.writeHead(503).end();
    },
  });
  const listen = receiver.requestListener;
  receiver.requestListener = (request, response) => {
    if (isFromLater(request.headers)) response.writeHead(401).end();
    else listen(request, response);
  };
  let server: Server | undefined;
  return {
    // Bolt would take what it sees of the installing as the way to find tokens.
    receiver: {
      init: (app) => receiver.init(app),
      start: () => receiver.start(port),
      stop: () => receiver.stop(),
    },
    async open({ connected }) {
      try {
        server = await receiver.start({ host, port }, inboundServerOptions);
        limitConnections(server);
        const { port: real } = server.address() as AddressInfo; // it listens on a port, not on a pipe
        log.info(`Slack's requests are taken at http://${host}:${real}${eventsPath}`);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        throw new Error(
          `Slack's requests cannot be taken at ${host}:${port} (${why}): choose another address with slack.http in heddle.yaml.`,
          { cause: error },
        );
      }
      connected();
    },
    async close(finish) {
      const closed = server && receiver.stop();
      await finish();
      // Slack keeps the connections of answered requests.
      server?.closeIdleConnections();
      // A closing server checks no times: without this a sender who stops in the middle would hold up the end.
      const late = setTimeout(() => server?.closeAllConnections(), graceMs);
      await closed;
      clearTimeout(late);
    },
  };
}

/** How far Slack's clock and ours may differ: as much as a request may be old. */
const toleranceSeconds = 300;

/** Whether the request names a time that is still to come: it could be sent again for as long. */
function isFromLater(headers: IncomingHttpHeaders): boolean {
  const seconds = Number(headers["x-slack-request-timestamp"] ?? 0);
  return seconds - Date.now() / 1_000 > toleranceSeconds;
}
