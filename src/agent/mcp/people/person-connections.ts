import { type Account, type Accounts, type AccountStore, isUsable } from "../../contracts/mcp-account.ts";
import type { CallRequest, McpCallOutcome } from "../call.ts";
import type { EnabledServer } from "../config.ts";
import { type Connection, type ConnectionOptions, createConnection } from "../connection.ts";
import { nothingListed } from "../listing/listing.ts";

export interface PersonConnectionOptions {
  accounts?: Accounts | undefined;
  /** A connection that nobody uses for so long is closed, ms. Default: five minutes. */
  idleMs?: number | undefined;
}

/** One server's connections: each person has one of their own, which no other can reach. */
export interface PersonConnections {
  /** The same for the same person, however many turns of theirs run. Opens nothing by itself. */
  of(person: string): Connection;
  /** Those in use, or in use a while ago. */
  open(): readonly Connection[];
  close(): Promise<void>;
}

const defaultIdleMs = 5 * 60_000;

export function openPersonConnections(
  server: EnabledServer,
  options: ConnectionOptions & PersonConnectionOptions,
): PersonConnections {
  const all = new Map<string, PersonConnection>();
  let isClosed = false;
  return {
    of(person) {
      const known = all.get(person);
      if (known) return known;
      const opened = new PersonConnection(server, person, options);
      if (isClosed) void opened.close();
      else all.set(person, opened);
      return opened;
    },
    open: () => [...all.values()].filter((each) => each.state().kind !== "idle"),
    async close() {
      isClosed = true;
      await Promise.all([...all.values()].map((each) => each.close()));
    },
  };
}

/**
 * The connection of one person. Before each use it looks whose account it is made with: without a usable one it is
 * closed, and after another sign-in it is opened anew, since a server may have bound its session to the account before.
 */
class PersonConnection implements Connection {
  readonly #server: EnabledServer;
  readonly #options: ConnectionOptions;
  readonly #store: AccountStore | undefined;
  readonly #idleMs: number;
  #inner: { connection: Connection; connectedAt: number | undefined } | undefined;
  #uses = 0;
  #idle: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(
    server: EnabledServer,
    person: string,
    { accounts, idleMs = defaultIdleMs, ...options }: ConnectionOptions & PersonConnectionOptions,
  ) {
    this.#server = server;
    this.#store = accounts?.of(person);
    this.#options = { ...options, accounts: this.#store };
    this.#idleMs = idleMs;
  }

  state() {
    if (this.#isClosed) return { kind: "closed" } as const;
    return this.#inner?.connection.state() ?? ({ kind: "idle" } as const);
  }

  listing() {
    return this.#inner?.connection.listing() ?? nothingListed;
  }

  async refresh(signal: AbortSignal): Promise<void> {
    await this.#use(
      (connection) => connection.refresh(signal),
      // Its tools are missing, and a call of one says why.
      () => {},
    );
  }

  async relist(signal: AbortSignal): Promise<void> {
    await this.#inner?.connection.relist(signal);
  }

  async call(request: CallRequest, repeatable: boolean): Promise<McpCallOutcome> {
    return await this.#use<McpCallOutcome>(
      async (connection) => {
        const outcome = await connection.call(request, repeatable);
        if (outcome.kind !== "refused" && outcome.kind !== "unavailable") return outcome;
        const account = await this.#readAccount();
        if (!account) return { kind: "signed-out" };
        const { wanted: lacks } = account;
        const isLacking = outcome.kind === "refused" && outcome.forbidden === true;
        return isLacking && lacks !== undefined ? { kind: "signed-out", lacks } : outcome;
      },
      (problem) => (problem === undefined ? { kind: "signed-out" } : { kind: "unavailable", problem }),
    );
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#drop();
  }

  /** @param without what to do where there is no account; `problem`: or where that cannot be known */
  async #use<T>(work: (connection: Connection) => Promise<T>, without: (problem?: string) => T): Promise<T> {
    clearTimeout(this.#idle);
    this.#uses += 1;
    try {
      const account = await this.#readAccount();
      if (account && !this.#isClosed) return await work(this.#openFor(account));
      await this.#drop();
      return without(this.#isClosed ? "the connection was closed" : undefined);
    } catch (error) {
      this.#options.log("warn", `an account cannot be read: ${String(error)}`);
      return without("accounts cannot be read now");
    } finally {
      this.#uses -= 1;
      if (this.#uses === 0) this.#idle = setTimeout(() => void this.#drop(), this.#idleMs).unref();
    }
  }

  async #readAccount(): Promise<Account | undefined> {
    const { name, endpoint } = this.#server;
    if (endpoint.kind === "stdio") return undefined;
    const account = await this.#store?.read(name);
    return isUsable(account, endpoint.url) ? account : undefined;
  }

  #openFor({ connectedAt }: Account): Connection {
    if (this.#inner && this.#inner.connectedAt === connectedAt) return this.#inner.connection;
    void this.#drop();
    const connection = createConnection(this.#server, this.#options);
    this.#inner = { connection, connectedAt };
    return connection;
  }

  async #drop(): Promise<void> {
    clearTimeout(this.#idle);
    const last = this.#inner;
    this.#inner = undefined;
    await last?.connection.close();
  }
}
