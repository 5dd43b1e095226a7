import { createServer } from "node:http";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Redis } from "ioredis";
import { consoleAuthor } from "../adapters/console/conversations/intake.ts";
import { type HttpEndpoint, takesPersons } from "../agent/mcp/config.ts";
import { disconnectAccount } from "../agent/mcp/sign-in/disconnect.ts";
import { SignInError } from "../agent/mcp/sign-in/begun.ts";
import { beginSignIn } from "../agent/mcp/sign-in/sign-in.ts";
import {
  type Accounts,
  type AccountStore,
  changeAccount,
  isUsable,
  listWanted,
} from "../agent/contracts/mcp-account.ts";
import type { CommandContext } from "../app/command-context.ts";
import { openAccounts } from "../app/mcp/mcp-accounts.ts";
import { openRedis } from "../app/redis.ts";
import { keys } from "../queue/redis/keys.ts";
import { UnreadableAccount } from "../queue/stores/mcp-accounts.ts";
import { openTelemetry } from "../telemetry/telemetry.ts";
import { createCommandContext, UsageError } from "./context.ts";
import { printResult } from "./print-result.ts";
import { stripControls } from "./run/terminal-view.ts";

/** Somebody has to find a password. */
const patienceMs = 10 * 60_000;

/** Lists the servers, and where the installation is signed in. */
export function listMcpServers({ json }: { json?: true }): Promise<number> {
  return withAccounts((setup, accounts) => list(setup, accounts, json));
}

/** Signs the installation in. */
export function loginToMcp(name: string, options: { port: number; json?: true }): Promise<number> {
  return withAccounts((setup, accounts) =>
    logIn({ name, endpoint: findEndpoint(setup, name), ...options }, accounts),
  );
}

/** Signs the installation out. */
export function logoutOfMcp(name: string, { json }: { json?: true }): Promise<number> {
  return withAccounts(async (_setup, accounts) => {
    let was = false;
    await changeAccount(accounts, name, async () => {
      was = await accounts.remove(name);
    });
    const text = was ? `Signed out of ${name}.` : `Nobody was signed in to ${name}.`;
    printResult(json, { server: name, signedOut: was }, text);
    return 0;
  });
}

/** Lists the accounts that people have connected. */
export function listPersonAccounts({ json }: { json?: true }): Promise<number> {
  return withAccounts(async (_setup, accounts, redis) => {
    const all = (await accounts.list()).toSorted((a, b) =>
      describeAccount(a) < describeAccount(b) ? -1 : 1,
    );
    const names = all.length === 0 ? [] : await redis.hmget(keys.names, ...all.map(({ person }) => person));
    const known = all.map((each, index) => ({ ...each, ...(names[index] && { name: names[index] }) }));
    const lines = known.map(({ name, ...each }) => [describeAccount(each), name].filter(Boolean).join("  "));
    printResult(json, { accounts: known }, lines.join("\n") || "Nobody has connected an account.");
    return 0;
  });
}

function describeAccount({ server, person }: { server: string; person: string }): string {
  return `${server}  ${person}`;
}

/** Disconnects a person's account. @param person `platform:workspace:id` */
export function disconnectPerson(server: string, person: string, { json }: { json?: true }): Promise<number> {
  return withAccounts(async (setup, accounts, redis) => {
    const { was, revoked } = await disconnectAccount(accounts.of(person), server);
    if (!was)
      throw new UsageError(
        `${person} has no account at ${server}; heddle mcp accounts lists those there are.`,
      );
    const telemetry = await openTelemetry({ ...setup, redis, measures: false });
    telemetry.audit({ action: "account-disconnected", server, of: person, by: operator });
    await telemetry.close();
    const there = revoked ? "" : ` ${server} was not told, or does not say that it has revoked it.`;
    const facts = { server, person, disconnected: true, revoked };
    printResult(json, facts, `Disconnected ${person} from ${server}.${there}`);
    return 0;
  });
}

const operator = { ...consoleAuthor(), id: "operator" };

async function withAccounts(
  work: (setup: CommandContext, accounts: Accounts, redis: Redis) => Promise<number>,
): Promise<number> {
  const setup = await createCommandContext("warn");
  const server = await openRedis(setup.config, setup.log, { adopts: false });
  try {
    const redis = server.connect();
    return await work(setup, await openAccounts(setup.config, redis), redis);
  } catch (error) {
    if (!(error instanceof SignInError)) throw error;
    process.stderr.write(`${setup.masker.mask(stripControls(error.message))}\n`);
    return 1;
  } finally {
    await server.close();
  }
}

async function list({ mcp }: CommandContext, accounts: Accounts, json?: true): Promise<number> {
  const people = await accounts.list();
  const servers = await Promise.all(
    mcp.servers.map(async (server) => {
      const { name } = server;
      if (server.state !== "enabled") return { name, state: server.state };
      if (server.endpoint.kind === "stdio") return { name, state: "a process" };
      const { signIn, url } = server.endpoint;
      if (!signIn) return { name, host: url.host, state: "no sign-in" };
      if (takesPersons(server)) {
        const connected = people.filter((each) => each.server === name).length;
        return {
          name,
          host: url.host,
          state: `each person's own account: ${connected} connected`,
          connected,
        };
      }
      return { name, host: url.host, state: await describeSignIn(accounts, { name, url }) };
    }),
  );
  const lines = servers.map(({ name, host, state }) => [name, host, state].filter(Boolean).join("  "));
  printResult(json, servers, lines.join("\n") || "No servers: list them in mcp.json.");
  return 0;
}

async function describeSignIn(
  accounts: AccountStore,
  { name, url }: { name: string; url: URL },
): Promise<string> {
  try {
    const isSignedIn = isUsable(await accounts.read(name), url);
    return isSignedIn ? "signed in" : `not signed in: heddle mcp login ${name}`;
  } catch (error) {
    if (!(error instanceof UnreadableAccount)) throw error;
    return error.message;
  }
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
  if (endpoint.signIn.accounts === "person")
    throw new UsageError(`At ${name} each person connects an account of their own, when a task needs it.`);
  return endpoint;
}

async function logIn(
  { name, endpoint, port, json }: { name: string; endpoint: HttpEndpoint; port: number; json?: true },
  accounts: AccountStore,
): Promise<number> {
  const redirectUrl = new URL(`http://127.0.0.1:${port}/callback`);
  const wanted = listWanted(await accounts.read(name).catch(() => undefined));
  const signIn = await beginSignIn(
    { name, url: endpoint.url },
    { settings: endpoint.signIn ?? {}, redirectUrl, wanted },
  );
  const state = signIn.url.searchParams.get("state");
  const answer = await awaitAnswer(redirectUrl, state, () =>
    printResult(
      json,
      { server: name, open: signIn.url.href },
      `Open this address and sign in:\n\n  ${signIn.url.href}\n\nIf the browser is on another machine, it ends at a page that does not load: paste that page's address here.`,
    ),
  );
  const account = await signIn.finish(answer);
  await changeAccount(accounts, name, () => accounts.write(name, account));
  const { scope } = account;
  const facts = { server: name, signedIn: true, ...(scope && { scope }) };
  printResult(json, facts, `Signed in to ${name}${scope ? ` (${scope})` : ""}. Turns use it from now on.`);
  return 0;
}

/**
 * The address that the browser was sent to, from the browser itself or as pasted. Whoever else can reach the port, as
 * any page that the browser shows can, does not know the state and ends nothing.
 *
 * @param show called once the browser's answer can be taken
 * @throws SignInError
 */
async function awaitAnswer(redirectUrl: URL, state: string | null, show: () => void): Promise<URL> {
  const answered = Promise.withResolvers<URL>();
  const isAnswer = (url: URL) => url.searchParams.has("state") && url.searchParams.get("state") === state;
  const server = createServer((request, response) => {
    const url = URL.parse(request.url ?? "", redirectUrl);
    if (request.method !== "GET" || url?.pathname !== redirectUrl.pathname)
      return void response.writeHead(404).end();
    if (!isAnswer(url))
      return void response
        .writeHead(400, { "content-type": "text/plain; charset=utf-8", connection: "close" })
        .end(
          "This is not the answer to the sign-in that Heddle waits for. Open the address that it has shown.\n",
        );
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
  server.listen(Number(redirectUrl.port), redirectUrl.hostname, show);
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    const url = URL.parse(line.trim());
    if (url && isAnswer(url)) answered.resolve(url);
    else if (line.trim() !== "")
      process.stdout.write(
        "This is not the address of that page: it holds code and state of this sign-in.\n",
      );
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
