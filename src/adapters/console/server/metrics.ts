import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { AuthGuard } from "./auth-guard.ts";
import type { AddressList } from "./client-address.ts";
import { createLimitedServer } from "./connections.ts";
import { explainRefusal } from "../api/role-check.ts";
import type { Services } from "../services.ts";
import { isRead, type Reply, replyProblem, send, setCommonHeaders } from "./http.ts";

/** The metrics of this process, for people who may see the system. */
export interface MetricsPage {
  readonly contentType: string;
  render(): Promise<string>;
}

/** Answers `GET /metrics`; with a token where the console needs one, of a role that may see the system. */
export async function answerMetrics(
  page: MetricsPage,
  services: Pick<Services, "authGuard" | "mayUse">,
  request: IncomingMessage,
): Promise<Reply> {
  const who = await services.authGuard.authenticate(request);
  if (!who.ok) return replyProblem(who.refusal.status, who.refusal.error);
  const { role } = who.person;
  if (!services.mayUse(role, "oversee")) return replyProblem(403, explainRefusal("oversee", role));
  return { status: 200, headers: { "content-type": page.contentType }, body: await page.render() };
}

/** Far more than those who scrape. */
const limits = { total: 64, address: 16 };

/** Serves only `/metrics`, where there is no console. Rejects when the address is in use. */
export async function serveMetrics(options: {
  page: MetricsPage;
  authGuard: AuthGuard;
  proxies: AddressList;
  host: string;
  port: number;
  onError(error: unknown): void;
}): Promise<{ port: number; close(): Promise<void> }> {
  const { page, authGuard } = options;
  const answer = async (request: IncomingMessage): Promise<Reply> => {
    const refusal = authGuard.checkOrigin(request);
    if (refusal) return replyProblem(refusal.status, refusal.error);
    const path = URL.parse(request.url ?? "", "http://metrics")?.pathname;
    if (!isRead(request.method) || path !== "/metrics") {
      return replyProblem(404, "There is nothing at this address but /metrics.");
    }
    // There is one token, the operator's.
    return await answerMetrics(page, { authGuard, mayUse: () => true }, request);
  };
  const server = createLimitedServer(limits, options.proxies, (request, response) => {
    setCommonHeaders(response);
    answer(request).then(
      (reply) => send(response, reply),
      (error: unknown) => {
        options.onError(error);
        send(response, replyProblem(503, "The metrics could not be read; Heddle's log says why."));
      },
    );
  });
  server.listen(options.port, options.host);
  await once(server, "listening");
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : options.port,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
