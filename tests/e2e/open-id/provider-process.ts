/**
 * oidc-provider, a certified implementation of OpenID Connect (https://github.com/panva/node-oidc-provider), as a
 * process of its own: it has a clock and keys of its own, and is started anew where it is to have others. Its pages are
 * plain ones, as its own load a font from elsewhere.
 */
import { createServer } from "node:http";
import type { ProviderSettings } from "./start-provider.ts";

// What start-provider.ts gives it.
const settings = JSON.parse(process.env["OPEN_ID_PROVIDER"] ?? "{}") as ProviderSettings & { keys: object[] };
const { port, client, person, keys, aheadMs = 0, metadata } = settings;
const clock = Date.now.bind(Date);
Date.now = () => clock() + aheadMs;
const { Provider } = await import("oidc-provider");

const page = (title: string, form: string) =>
  `<!doctype html><title>${title}</title><h1>${title}</h1>${form}`;
const { sub } = person;
const wellKnown = "/.well-known/openid-configuration";
const issuer = `http://localhost:${port}`;
const scope = "openid profile email";

const provider = new Provider(issuer, {
  clients: [{ ...client, grant_types: ["authorization_code"], response_types: ["code"] }],
  jwks: { keys },
  cookies: { keys: ["of a test"] },
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
  scopes: scope.split(" "),
  ttl: { IdToken: 300 },
  pkce: { required: () => true },
  findAccount: async (_context: unknown, accountId: string) => ({ accountId, claims: async () => person }),
  interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
  // Whoever has signed in has agreed.
  async loadExistingGrant({ oidc }: { oidc: { client: { clientId: string } } }) {
    const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: sub });
    grant.addOIDCScope(scope);
    await grant.save();
    return grant;
  },
  features: {
    devInteractions: { enabled: false },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource(context: { body: string }, form: string) {
        context.body = page(
          "Sign out?",
          `${form}<button form="op.logoutForm" name="logout" value="yes">Yes, sign out</button>`,
        );
      },
    },
  },
  renderError(context: { type: string; body: string }, out: Record<string, string>) {
    context.type = "text";
    context.body = Object.entries(out).join("; ");
  },
});

const signInForm = (path: string) => `<form method="post"><button>Sign in as ${sub}</button>
  <button formaction="${path}/refuse">Cancel</button></form>`;
const answer = provider.callback();
/** What it says of itself, but for what it is to say instead. */
async function describe(): Promise<string> {
  const own = await fetch(`${issuer}${wellKnown}?as-it-is`);
  return JSON.stringify({ ...((await own.json()) as object), ...metadata });
}
const server = createServer((request, response) => {
  if (request.url === "/favicon.ico") return void response.writeHead(204).end();
  if (metadata && request.url === wellKnown)
    return void describe().then((text) =>
      response.writeHead(200, { "content-type": "application/json" }).end(text),
    );
  if (!request.url?.startsWith("/interaction/")) return answer(request, response);
  if (request.method === "POST") {
    const refused = request.url.endsWith("/refuse");
    const result = refused ? { error: "access_denied" } : { login: { accountId: sub } };
    return void provider.interactionFinished(request, response, result);
  }
  response
    .writeHead(200, { "content-type": "text/html; charset=utf-8" })
    .end(page("Who are you?", signInForm(request.url)));
});
server.listen(port, "127.0.0.1", () => process.stdout.write("listening\n"));
