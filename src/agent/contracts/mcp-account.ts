import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";

/** An account at an MCP server, as sign-in has left it. All of it is secret. */
export const accountSchema = z.object({
  version: z.literal(1),
  /** Address of the MCP server that it was made for. */
  server: z.string(),
  /** The authorization server and its metadata (RFC 8414), as it was found at sign-in. */
  issuer: z.string(),
  metadata: z.looseObject({}).optional(),
  /** Hosts of its sign-in that the operator has named, which may be private. */
  hosts: z.array(z.string()).optional(),
  /** RFC 8707: what the token is for. */
  resource: z.string().optional(),
  client: z.looseObject({ client_id: z.string(), client_secret: z.string().optional() }),
  accessToken: z.string(),
  refreshToken: z.string().optional(),
  /** When the token ends, ms since the epoch; absent where the server does not say. */
  expiresAt: z.number().optional(),
  scope: z.string().optional(),
  /** Permissions that a call was refused for want of, for the next sign-in. */
  wanted: z.string().optional(),
  /** Its token was refused and cannot be renewed: it serves nobody any more. */
  ended: z.literal(true).optional(),
  /** When a person connected it, ms since the epoch; tells one connecting from the next. */
  connectedAt: z.number().optional(),
});

export type Account = z.infer<typeof accountSchema>;

/** Whether requests to that address may be signed with it. */
export function isUsable(account: Account | undefined, url: URL): account is Account {
  return account !== undefined && account.ended === undefined && account.server === url.href;
}

/** What the next sign-in has to ask for beside the usual; undefined where no call was refused for want of permission. */
export function listWanted(account: Account | undefined): string | undefined {
  if (account?.wanted === undefined) return undefined;
  return [account.scope, account.wanted].filter((scope) => scope !== undefined).join(" ");
}

/** Where the accounts of one owner are kept, by server, for all processes of the installation. */
export interface AccountStore {
  /** Undefined where nobody has signed in. @throws where it cannot be read */
  read(server: string): Promise<Account | undefined>;
  write(server: string, account: Account): Promise<void>;
  /** False where there was none. */
  remove(server: string): Promise<boolean>;
  /**
   * Runs the work unless another process changes that account just now: two that renew one token would each void the
   * other's, and a renewal would bring back what was removed meanwhile.
   */
  renewAlone(server: string, work: () => Promise<void>): Promise<"done" | "busy">;
}

/** The installation's own accounts, and those of people: no owner's store opens what another's has sealed. */
export interface Accounts extends AccountStore {
  /**
   * @param person `platform:workspace:id`, from whoever the platform says has written; never from a model, a tool or
   * the text of a message
   */
  of(person: string): AccountStore;
  /** Which people have connected which servers. */
  list(): Promise<{ server: string; person: string }[]>;
}

/** Another process has an account for longer than is waited for it: a sentence for whoever wants to change it. */
export class AccountBusy extends Error {
  override readonly name = "AccountBusy";

  constructor(server: string) {
    super(
      `The account at ${server} is being renewed by another process, which takes too long: try again in a minute.`,
    );
  }
}

/** Changes an account while no process renews it. @throws AccountBusy where one takes too long */
export async function changeAccount(
  store: AccountStore,
  server: string,
  change: () => Promise<void>,
): Promise<void> {
  for (let wait = 0; wait < waits.times; wait += 1) {
    if ((await store.renewAlone(server, change)) === "done") return;
    await delay(waits.eachMs);
  }
  throw new AccountBusy(server);
}

/** Longer than a process that has died holds the others up: so often, so long, ms. */
const waits = { times: 80, eachMs: 250 };
