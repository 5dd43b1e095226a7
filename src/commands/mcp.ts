import { createServer } from "node:http";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import type { HttpEndpoint } from "../agent/mcp/config.ts";
import { beginSignIn, SignInError } from "../agent/mcp/sign-in/sign-in.ts";
import type { AccountStore } from "../agent/mcp-account.ts";
import type { CommandContext } from "../app/context.ts";
import { openAccounts } from "../app/mcp-accounts.ts";
import { openRedis } from "../app/redis.ts";
import { createCommandContext, UsageError } from "./context.ts";

const usage = "Usage: heddle mcp list | login <server> [--port N] | logout <server>";

/** Where a browser of this machine brings the answer to; a client that is registered by hand names this port. */
const defaultPort = 8421;
/** Somebody has to find a password. */
const patienceMs = 10 * 60_000;

/** Signs the installation in to MCP servers that take an account, and out again. */
export async function command(args: string[]): Promise<number> {
  const { verb, name, port } = readArguments(args);
  const setup = await createCommandContext("warn");
  const server = await openRedis(setup.config, setup.log, { adopts: false });
  try {
    const accounts = await openAccounts(setup.config, server.connect());
    if (verb === "list") return await list(setup, accounts);
    const endpoint = findEndpoint(setup, name);
    if (verb === "login") return await logIn({ name, endpoint, port }, accounts);
    const was = await accounts.remove(name);
    process.stdout.write(was ? `Signed out of ${name}.\n` : `Nobody was signed in to ${name}.\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof SignInError)) throw error;
    process.stderr.write(`${setup.masker.mask(error.message)}\n`);
    return 1;
  } finally {
    await server.close();
  }
}

/** @throws UsageError */
function readArguments(args: string[]): { verb: "list" | "login" | "logout"; name: string; port: number } {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { port: { type: "string", default: String(defaultPort) } },
  });
  const [verb, name = "", ...rest] = positionals;
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new UsageError("--port takes a number from 1 to 65535.");
  if (rest.length === 0 && verb === "list" && name === "") return { verb, name, port };
  if (rest.length === 0 && (verb === "login" || verb === "logout") && name !== "")
    return { verb, name, port };
  throw new UsageError(usage);
}

async function list({ mcp }: CommandContext, accounts: AccountStore): Promise<number> {
  for (const server of mcp.servers) {
    if (server.state !== "enabled") process.stdout.write(`${server.name}  ${server.state}\n`);
    else if (server.endpoint.kind === "stdio") process.stdout.write(`${server.name}  a process\n`);
    else {
      const { signIn, url } = server.endpoint;
      const account = signIn && (await accounts.read(server.name));
      const state = !signIn
        ? "no sign-in"
        : account
          ? "signed in"
          : `not signed in: heddle mcp login ${server.name}`;
      process.stdout.write(`${server.name}  ${url.host}  ${state}\n`);
    }
  }
  if (mcp.servers.length === 0) process.stdout.write("No servers: mcp.json would name them.\n");
  return 0;
}

/** @throws UsageError */
function findEndpoint({ mcp, config }: CommandContext, name: string): HttpEndpoint {
  const server = mcp.servers.find((each) => each.name === name);
  const file = config.settings.mcp.config;
  if (!server)
    throw new UsageError(`${file} names no server ${name}; heddle mcp list shows those that it names.`);
  if (server.state !== "enabled")
    throw new UsageError(`The server ${name} is ${server.state}: correct its entry in ${file}.`);
  const { endpoint } = server;
  if (endpoint.kind === "stdio")
    throw new UsageError(`The server ${name} is a process, which takes no sign-in.`);
  if (!endpoint.signIn)
    throw new UsageError(`Put "signIn": true into the entry of ${name} in ${file} first.`);
  return endpoint;
}

async function logIn(
  { name, endpoint, port }: { name: string; endpoint: HttpEndpoint; port: number },
  accounts: AccountStore,
): Promise<number> {
  const redirectUrl = new URL(`http://127.0.0.1:${port}/callback`);
  const signIn = await beginSignIn(
    { name, url: endpoint.url },
    { settings: endpoint.signIn ?? {}, redirectUrl },
  );
  process.stdout.write(
    `Open this address and sign in:\n\n  ${signIn.url.href}\n\nIf the browser is on another machine, it ends at a page that does not load: paste that page's address here.\n`,
  );
  const account = await signIn.finish(await awaitAnswer(redirectUrl));
  await accounts.write(name, account);
  process.stdout.write(
    `Signed in to ${name}${account.scope ? ` (${account.scope})` : ""}. Turns use it from now on.\n`,
  );
  return 0;
}

/** The address that the browser was sent to, from the browser itself or as pasted. @throws SignInError */
async function awaitAnswer(redirectUrl: URL): Promise<URL> {
  const answered = Promise.withResolvers<URL>();
  const server = createServer((request, response) => {
    const url = URL.parse(request.url ?? "", redirectUrl);
    if (request.method !== "GET" || url?.pathname !== redirectUrl.pathname)
      return void response.writeHead(404).end();
    response
      .writeHead(200, { "content-type": "text/plain; charset=utf-8", connection: "close" })
      .end("Heddle has the answer. You can close this page and look at the terminal.\n");
    answered.resolve(url);
  });
  server.on("error", (error) =>
    answered.reject(
      new SignInError(`${redirectUrl.host} cannot be listened on (${error.message}): choose another --port.`),
    ),
  );
  server.listen(Number(redirectUrl.port), redirectUrl.hostname);
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    const url = URL.parse(line.trim());
    if (url?.searchParams.has("state")) answered.resolve(url);
    else if (line.trim() !== "")
      process.stdout.write("This is not the address of that page: it holds code and state.\n");
  });
  const late = setTimeout(
    () =>
      answered.reject(
        new SignInError(`Nobody has signed in within ${patienceMs / 60_000} minutes. Begin again.`),
      ),
    patienceMs,
  );
  try {
    return await answered.promise;
  } finally {
    clearTimeout(late);
    lines.close();
    process.stdin.unref?.();
    if (server.listening) {
      server.close();
      server.closeIdleConnections();
      await once(server, "close");
    }
  }
}
