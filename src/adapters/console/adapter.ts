import { once } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Redis } from "ioredis";
import type { BaseLogger } from "pino";
import type { ChatAdapter } from "../../chat/adapter.ts";
import type { Author, Intake } from "../../chat/inbound.ts";
import { explainOutage } from "../../chat/outage.ts";
import type { WorkspaceFiles } from "../../operations/threads/files.ts";
import type { AccessTokens } from "../../operations/people/access-tokens.ts";
import { claimKey } from "../../operations/idempotency.ts";
import { createSignIns } from "../../operations/people/sign-ins.ts";
import type { Operations } from "../../operations/operations.ts";
import { answerApi } from "./api/api.ts";
import { createAuthGuard, findUnsafeSettings } from "./server/auth-guard.ts";
import { type AddressList, createAddressList } from "./server/client-address.ts";
import { compressReply } from "./server/compress.ts";
import { consoleLimits, createLimitedServer } from "./server/connections.ts";
import { Conversations, type OnUnreadable } from "./conversations/conversations.ts";
import { answerProbe } from "./server/health.ts";
import { isRead, type Reply, replyProblem, send, setCommonHeaders, withFormTo } from "./server/http.ts";
import { createConsoleIntake } from "./conversations/intake.ts";
import { listen, nameOf } from "./server/listen.ts";
import { LiveStreams } from "./streams/live.ts";
import { answerMetrics, type MetricsPage } from "./server/metrics.ts";
import { NeedsFeed, shareNeeds } from "./streams/needs-feed.ts";
import { type Page, readPage } from "./server/page.ts";
import type { IdentityHeader } from "./server/person.ts";
import {
  createSignInRoutes,
  describeProvider,
  type OpenIdOptions,
  type SignInRoutes,
} from "./server/sign-in-routes.ts";
import type { ConsoleStatus, Services } from "./services.ts";
import { type GithubAppSetup, githubAppPage } from "./github-app.ts";
import type { ConsoleSetup } from "./setup-at-console.ts";
import { SetupStreams } from "./streams/setup-streams.ts";
import { TimelineStreams } from "./streams/timeline-streams.ts";
import { Uploads } from "./conversations/uploads.ts";

export interface ConsoleAdapterOptions {
  redis: Redis;
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** Needed where `host` is not the loopback interface; asked for wherever it is set. */
  token?: string;
  /** Stands for the token once, soon after the start. */
  loginCode?: string;
  /** Addresses and networks of reverse proxies; by default none is believed. */
  proxies?: readonly string[];
  /** By which these proxies say who somebody is. */
  identity?: IdentityHeader | undefined;
  /** The provider at which people sign in. */
  openId?: OpenIdOptions | undefined;
  /** Told whom it has signed in. */
  onSignIn?(by: Author): void;
  /** The tokens of people. */
  tokens: Pick<AccessTokens, "find">;
  mayUse: Services["mayUse"];
  recheckMs?: number;
  files: WorkspaceFiles;
  operations: Operations;
  setup: ConsoleSetup;
  githubApp: GithubAppSetup;
  status(): Promise<ConsoleStatus>;
  /** Which Heddle this is, for `/healthz`. */
  instance: string;
  /** Whether any worker takes turns. */
  hasWorker(): Promise<boolean>;
  /**
   * Passes on the outcome of a request, or rejects with a sentence for people when what is stored cannot be reached
   * meanwhile. By default it is waited for.
   */
  confirm?<T>(work: Promise<T>): Promise<T>;
  /** What else keeps this Heddle from serving, for `/readyz`. */
  findUnready?(): Promise<string | undefined>;
  metrics?: MetricsPage;
  /** Told of what is stored and cannot be read. */
  onUnreadable?: OnUnreadable;
  log: Pick<BaseLogger, "error" | "warn">;
}

/** How often files that no message has named are looked for, in milliseconds. */
const sweepMs = 5 * 60_000;

/** How long an open stream outlives its token, in milliseconds. */
const recheckMs = 20_000;

/** How long a pending request may delay a stop, in milliseconds. */
const graceMs = 5000;

/**
 * The console: a small chat client in the browser, and an adapter like those of the chat platforms. `url` is the page's
 * address, known once it has started.
 */
export function createConsoleAdapter(options: ConsoleAdapterOptions): ChatAdapter & { readonly url: string } {
  const { redis, host, port, token, files, operations, openId, onSignIn = () => {}, log } = options;
  const proxies = createAddressList(options.proxies ?? []);
  let running:
    | {
        server: Server;
        live: LiveStreams;
        timelineStreams: TimelineStreams;
        setupStreams: SetupStreams;
        url: string;
        sweeping: NodeJS.Timeout;
      }
    | undefined;

  return {
    platform: "local",

    get url() {
      return running?.url ?? "";
    },

    async start(intake: Intake) {
      const unsafe = findUnsafeSettings(host, token, options.openId !== undefined);
      if (unsafe) throw new Error(unsafe);

      const conversations = new Conversations(redis, Date.now, options.onUnreadable);
      const uploads = new Uploads(redis, Date.now);
      const sweep = () =>
        void uploads
          .sweep()
          .catch((error: unknown) => log.error({ err: error }, "old files could not be deleted"));
      const onStreamError = (error: unknown) =>
        log.error({ err: error }, "a live stream of the console failed");
      const needs = shareNeeds(new NeedsFeed(operations, onStreamError));
      const live = new LiveStreams(conversations, redis.duplicate(), onStreamError, needs);
      const timelineStreams = new TimelineStreams(operations.threads, onStreamError, needs);
      const setupStreams = new SetupStreams(options.setup, onStreamError, needs);
      const services: Services = {
        conversations,
        uploads,
        intake: createConsoleIntake({ redis, intake }),
        mayUse: options.mayUse,
        claimKey: (request) => claimKey(redis, request),
        recheckMs: options.recheckMs ?? recheckMs,
        live,
        timelineStreams,
        setup: options.setup,
        setupStreams,
        githubApp: options.githubApp,
        files,
        operations,
        authGuard: createAuthGuard({
          ...{ host, token, proxies, loginCode: options.loginCode },
          ...{ identity: options.identity, tokens: options.tokens, signIns: createSignIns(redis) },
          provider: openId && describeProvider(openId),
        }),
        status: () => options.status(),
      };
      const { authGuard } = services;
      const signIn =
        openId && createSignInRoutes(openId, { redis, authGuard, proxies, onSignIn, log, now: Date.now });
      try {
        const server = createConsoleServer(services, { page: await readPage(), signIn }, proxies, options);
        await live.start();
        running = {
          server,
          live,
          timelineStreams,
          setupStreams,
          sweeping: setInterval(sweep, sweepMs).unref(),
          url: `http://${nameOf(host)}:${await listen(server, port, host)}`,
        };
      } catch (error) {
        live.close();
        throw error;
      }
    },

    async stop() {
      if (!running) return;
      const { server, live, timelineStreams, setupStreams, sweeping } = running;
      running = undefined;
      clearInterval(sweeping);
      const closed = once(server, "close");
      server.close();
      live.close();
      timelineStreams.close();
      setupStreams.close();
      const late = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearTimeout(late);
    },
  };
}

type ServerOptions = Pick<
  ConsoleAdapterOptions,
  "instance" | "hasWorker" | "findUnready" | "confirm" | "metrics" | "log"
>;

function createConsoleServer(
  services: Services,
  { page, signIn }: { page: Page; signIn: SignInRoutes | undefined },
  proxies: AddressList,
  { instance, hasWorker, findUnready, confirm = passOn, metrics, log }: ServerOptions,
): Server {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<Reply | null> => {
    const refusal = services.authGuard.checkOrigin(request);
    if (refusal) return replyProblem(refusal.status, refusal.error);
    const url = URL.parse(request.url ?? "", "http://console") ?? new URL("http://console/unreadable");
    if (url.pathname.startsWith("/api/")) {
      const answered = answerApi(services, request, response, url);
      return await confirm(answered);
    }
    if (url.pathname === "/mcp") {
      // With the first request: most installations get none, and its libraries would hold up the start.
      const { answerMcp } = await import("./mcp-server/endpoint.ts");
      return await answerMcp(services, request, response, confirm);
    }
    if (metrics && url.pathname === "/metrics") return await answerMetrics(metrics, services, request);
    const signedIn = signIn && (await confirm(signIn.answer(request, url.pathname, url.searchParams)));
    if (signedIn) return signedIn;
    const path = isRead(request.method) ? url.pathname : "";
    const answered =
      answerFile(path, request) ??
      (await answerProbe(path, instance, hasWorker, services.status, findUnready));
    return answered ?? replyProblem(404, "There is nothing at this address.");
  };
  const answerFile = (path: string, { headers }: IncomingMessage): Reply | undefined => {
    const file = page.get(path)?.(headers);
    return file && path === githubAppPage ? withFormTo(services.githubApp.host, file) : file;
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    setCommonHeaders(response);
    try {
      const reply = await answer(request, response);
      if (reply) send(response, await compressReply(reply, request.headers["accept-encoding"]?.toString()));
    } catch (error) {
      logUnanswered(log, error);
      if (response.headersSent) response.destroy();
      else send(response, replyProblem(503, explain(error)));
    }
  };

  return createLimitedServer(consoleLimits, proxies, (request, response) => void serve(request, response));
}

function passOn<T>(work: Promise<T>): Promise<T> {
  return work;
}

/** An outage is a sentence, and no defect whose place is sought. */
function logUnanswered(log: ServerOptions["log"], error: unknown): void {
  const problem = "the console could not answer a request";
  const outage = explainOutage(error);
  if (outage !== undefined) log.warn(`${problem}: ${outage}`);
  else log.error({ err: error }, problem);
}

function explain(error: unknown): string {
  return explainOutage(error) ?? "Heddle could not do this now; its log says why. Try again in a moment.";
}
