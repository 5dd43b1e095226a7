import { randomBytes, randomInt, timingSafeEqual } from "node:crypto";
import { AccountBusy, type Accounts, changeAccount, listWanted } from "../agent/contracts/mcp-account.ts";
import type { SignInSettings } from "../agent/mcp/config.ts";
import { parseThreadId } from "../chat/threads.ts";
import type { AccountConnecting, AskedAccount } from "../intake/questions/account-connecting.ts";
import { type Binding, type ConnectingRecords, digest, stepSeconds } from "./records.ts";

/** What a server's entry in `mcp.json` says now. */
export interface ServerEntry {
  url: URL;
  settings: SignInSettings;
}

export interface ConnectingOptions {
  /** Both are asked for when they are needed first: most processes connect nobody. */
  records(): Promise<ConnectingRecords>;
  accounts(): Promise<Accounts>;
  /** Where people reach this Heddle's pages: its origin. Undefined where the operator has named none. */
  address: string | undefined;
  /** Undefined where it takes no accounts of persons any more. */
  findServer(name: string): ServerEntry | undefined;
  now(): number;
  /** How long each request to an authorization server may take, ms. */
  stepMs?: number;
}

/** What the pages ask for. */
export interface ConnectingPages {
  /** Whom a link is for, before anything is done with it. */
  find(ticket: string): Promise<Binding | undefined>;
  /**
   * Uses the link up, for one browser.
   *
   * @param browser what that browser, and no other, sends with its answer
   * @throws SignInError
   */
  begin(ticket: string, browser: string): Promise<{ url: URL; state: string } | undefined>;
  /**
   * Takes an authorization server's answer, once.
   *
   * @param browser what the browser has sent for this state
   * @throws SignInError
   */
  finish(returned: URL, browser: string | undefined): Promise<{ bound: Binding; code: string } | undefined>;
}

export const callbackPath = "/connect/callback";

/** What this Heddle says of itself as a client of authorization servers, and its id where they look there. */
export const clientPath = "/connect/client.json";

/** The sentence for operator and model where nobody can connect an account. */
export const noAddress =
  "people cannot connect accounts here: the operator must set hooks.address in heddle.yaml to the https address at which the port of hooks is reached.";

/** How often a code may be wrong before the sign-in counts for nothing. */
const mostAttempts = 5;

/**
 * Connects accounts of people by OAuth in a browser, of which nothing is known but what it brings along. The two
 * attacks on that, and what is done about them:
 *
 * - Somebody has a victim's browser end a sign-in that they have begun, so that the victim works with their account: an
 *   answer counts only from the browser that was sent (RFC 9700, 4.7).
 * - Somebody forwards their own link, so that a victim's account is bound to them (cross-user session fixation,
 *   https://mobitec.ie.cuhk.edu.hk/connector-oauth-security/): the account is kept aside until the person for whom the
 *   link was enters, in the thread, a code that only the browser of whoever signed in was shown.
 */
export function createAccountConnecting(options: ConnectingOptions): AccountConnecting & ConnectingPages {
  const { accounts, address, findServer, now, stepMs } = options;

  /** The server that was asked for, unless its entry has changed since. */
  const findBound = ({ server, url }: Pick<Binding, "server" | "url">): ServerEntry | undefined => {
    const found = findServer(server);
    return found?.url.href === url ? found : undefined;
  };

  return {
    async offerLink(asked) {
      if (address === undefined) return { problem: `Sorry, ${noAddress}` };
      const { server } = asked.question;
      const found = findServer(server);
      if (!found) return { problem: `${server} takes no accounts of persons any more.` };
      const ticket = randomBytes(24).toString("base64url");
      await (await options.records()).write("link", ticket, {
        bound: { ...bind(asked), url: found.url.href },
      });
      return { link: `${address}/connect/${ticket}`, minutes: stepSeconds / 60 };
    },

    async confirm(asked, code) {
      const id = idOf(bind(asked));
      const signedIn = await (await options.records()).read("signedIn", id);
      if (!signedIn) return { kind: "refused", why: nobodyYet };
      const { bound, account } = signedIn;
      // The record is of this question; that its owner is the same is checked once more, for all depends on it.
      if (bound.person !== bind(asked).person || !findBound(bound))
        return { kind: "refused", why: nobodyYet };
      if (!isSame(normalize(code), normalize(signedIn.code))) {
        if ((await (await options.records()).countAttempt("signedIn", id)) < mostAttempts)
          return { kind: "refused", why: "That is not the code which the page shows." };
        await (await options.records()).remove("signedIn", id);
        return {
          kind: "refused",
          why: `That was not the code ${mostAttempts} times. Press Connect and sign in again.`,
        };
      }
      const store = (await accounts()).of(bound.person);
      try {
        await changeAccount(store, bound.server, () => store.write(bound.server, account));
      } catch (error) {
        if (error instanceof AccountBusy) return { kind: "refused", why: error.message };
        throw error;
      }
      return { kind: "connected" };
    },

    async find(ticket) {
      return (await (await options.records()).read("link", ticket))?.bound;
    },

    async begin(ticket, browser) {
      const bound = (await (await options.records()).take("link", ticket))?.bound;
      const found = bound && findBound(bound);
      if (!found || address === undefined) return undefined;
      const redirectUrl = new URL(callbackPath, address);
      const server = { name: bound.server, url: found.url };
      const { settings } = found;
      const { beginSignIn } = await loadSignIn();
      const account = await (await accounts())
        .of(bound.person)
        .read(bound.server)
        .catch(() => undefined);
      const signIn = await beginSignIn(server, {
        ...{ settings, redirectUrl, now, wanted: listWanted(account) },
        clientMetadataUrl: new URL(clientPath, address),
        ...(stepMs && { stepMs }),
      });
      const { begun, url } = signIn;
      await (await options.records()).write("begun", begun.state, {
        bound,
        signIn: begun,
        browser: digest(browser),
      });
      return { url, state: begun.state };
    },

    async finish(returned, browser) {
      const state = returned.searchParams.get("state") ?? "";
      const begun = await (await options.records()).read("begun", state);
      // Looked at before it is used up: another browser must not end the sign-in of this one.
      if (!begun || browser === undefined || !isSame(digest(browser), begun.browser)) return undefined;
      const taken = await (await options.records()).take("begun", state);
      const found = taken && findBound(taken.bound);
      if (!found) return undefined;
      const { bound, signIn } = taken;
      const server = { name: bound.server, url: found.url };
      const { finishSignIn } = await loadSignIn();
      const account = await finishSignIn(server, signIn, returned, { now, ...(stepMs && { stepMs }) });
      const code = makeCode();
      await (await options.records()).write("signedIn", idOf(bound), {
        bound,
        account: { ...account, connectedAt: now() },
        code,
      });
      return { bound, code };
    },
  };
}

/** With the protocol's SDK, which only those need who sign in. */
const loadSignIn = () => import("../agent/mcp/sign-in/sign-in.ts");

const nobodyYet = "Nobody has signed in yet, or it was too long ago. Press Connect and sign in first.";

function bind({ thread, question }: AskedAccount): Omit<Binding, "url"> {
  const { platform, workspace } = parseThreadId(thread);
  const { id, server, requester } = question;
  const person = `${platform}:${workspace}:${requester.id}`;
  return { thread, question: id, person, name: requester.name, server };
}

function idOf({ thread, question }: Pick<Binding, "thread" | "question">): string {
  return JSON.stringify([thread, question]);
}

/** Without letters and digits that look alike. */
const alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

function makeCode(): string {
  const letters = Array.from({ length: 8 }, () => alphabet[randomInt(alphabet.length)] ?? "");
  return `${letters.slice(0, 4).join("")}-${letters.slice(4).join("")}`;
}

function normalize(code: string): string {
  return code.toUpperCase().replaceAll(/[^A-Z0-9]/g, "");
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
