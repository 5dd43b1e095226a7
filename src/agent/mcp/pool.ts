import type { ServiceHost } from "../../sandbox/service.ts";
import { createMasker } from "../secrets/mask-secrets.ts";
import type { EnabledServer, McpConfig, McpServer, McpTimeouts } from "./config.ts";
import type { ConnectionState } from "./connection.ts";
import { createOffer, type McpOffer } from "./offer.ts";
import { nothingListed, type ServerPrompt } from "./listing/listing.ts";
import type { Joined, Member } from "./member.ts";
import { nobody } from "./people/nobody.ts";
import type { Accounts } from "../contracts/mcp-account.ts";
import type { Asker } from "./people/asker.ts";
import type { PromptChoice } from "../messages.ts";
import type { ToolResult } from "../tools/tool.ts";
import type { InputStore } from "../contracts/input-store.ts";

/** What `/status` shows of one server. */
export interface McpServerStatus {
  server: string;
  /** `idle`: no turn has needed it yet. The rest as in {@link ConnectionState}. */
  state: "disabled" | "invalid" | ConnectionState["kind"];
  /** Its own names of the tools that it offers at the moment. */
  tools: string[];
  /** One or more sentences for the operator, without secrets. */
  problem?: string;
}

/**
 * The MCP servers of an installation: one connection to each, shared by all turns of the process; where a server takes
 * accounts of persons, one for each person.
 */
export interface McpPool {
  /**
   * What a turn starts with. Connects in parallel to servers that are not connected yet and waits for them for a limited
   * time; a slower one joins in a later turn. Never rejects: a broken server costs only its own tools.
   *
   * @param asker with whose accounts calls are made at servers that take those of persons; without one there are none
   */
  offer(signal: AbortSignal, asker?: Asker): Promise<McpOffer>;
  /**
   * The messages of a prompt that a person has chosen, as the result of a call; undefined where no server has that name.
   *
   * @param asker with whose account it is asked for at servers that take those of persons
   */
  readPrompt(
    choice: PromptChoice,
    context: { signal: AbortSignal; asker?: Asker | undefined },
  ): Promise<ToolResult | undefined>;
  /** In the order of the configuration. */
  status(): McpServerStatus[];
  /** Ends all connections and server processes, within some three seconds. */
  close(): Promise<void>;
}

export interface McpPoolOptions {
  config: McpConfig;
  /** Of this program, as servers are told. */
  version: string;
  /** Where server processes run. Without it only those start whose entry says that they want no sandbox. */
  sandboxes?: ServiceHost;
  /** Where the accounts of the installation and of people are. Without it no request to a server is signed. */
  accounts?: Accounts;
  /** Why people cannot connect accounts, as a sentence for the model. Default: they can. */
  connectProblem?(): string | undefined;
  /** Where what servers ask people is kept. Default: nobody is asked. */
  inputs?: InputStore;
  /** Told with each offer what people may begin tasks with: at a server, or with an account of that person there. */
  onPrompts?(offered: { server: string; person?: string; prompts: readonly ServerPrompt[] }): void;
  /** A person's connection that nobody uses for so long is closed, in milliseconds. Default: five minutes. */
  idleMs?: number;
  /** Told of each token before it is used, so that it can be masked. */
  onToken?(token: string): void;
  /** For servers that set nothing themselves. Default 10, 60 and 120 seconds. */
  timeouts?: Partial<McpTimeouts>;
  /** How long a turn waits for a server that is new or was lost, in milliseconds. Default 10,000. */
  patienceMs?: number;
  /** Back-off after a failed attempt; it doubles each time. Default from 1,000 to 60,000 milliseconds. */
  backoff?: { baseMs: number; capMs: number };
  /** Milliseconds by a clock that nobody sets. Default `performance.now`. */
  now?: () => number;
  log?(entry: { level: "info" | "warn"; server: string; message: string }): void;
}

const defaultTimeouts: McpTimeouts = { connectMs: 10_000, executeMs: 60_000, readMs: 120_000 };

/** @throws RangeError when a time-out is not above 0. */
export async function openMcpPool(options: McpPoolOptions): Promise<McpPool> {
  const {
    config,
    patienceMs = 10_000,
    backoff = { baseMs: 1_000, capMs: 60_000 },
    now = () => performance.now(),
  } = options;
  const base = { ...defaultTimeouts, ...options.timeouts };
  for (const [name, ms] of Object.entries(base)) {
    if (!(ms > 0)) throw new RangeError(`The MCP time-out ${name} must be above 0 ms, not ${ms}.`);
  }
  const masker = createMasker(config.secrets);
  const enabled = config.servers.filter(isEnabled);
  const members = enabled.length > 0 ? await joinServers(enabled) : [];

  return {
    async offer(signal, asker) {
      const joined = members.map((member) => member.join(asker));
      await Promise.all(joined.map(({ connection }) => connection.refresh(signal)));
      for (const each of joined) tellPrompts(each, asker);
      return createOffer(joined.map((each) => ({ joined: each, listing: each.connection.listing() })));
    },
    async readPrompt(choice, { signal, asker }) {
      const member = members.find(({ server }) => server.name === choice.server);
      if (!member) return undefined;
      const { connection, toResult } = member.join(asker);
      const given = { prompt: choice.name, arguments: choice.arguments ?? {} };
      return toResult(await connection.call({ ...given, signal, onProgress: () => {} }, true));
    },
    status: () => config.servers.map(readStatus),
    async close() {
      await Promise.all(members.map((member) => member.close()));
    },
  };

  function tellPrompts({ server, isPersonal, connection }: Joined, asker: Asker | undefined): void {
    // One that cannot be reached may still have them when somebody has chosen one.
    if (connection.state().kind !== "ready") return;
    const { prompts } = connection.listing();
    // Still to come: what others know of them stays.
    if (prompts === nothingListed.prompts) return;
    const owner = isPersonal && asker ? { person: asker.person } : {};
    options.onPrompts?.({ server, ...owner, prompts });
  }

  async function joinServers(servers: readonly EnabledServer[]): Promise<Member[]> {
    // The protocol's SDK takes some 30 MB, so it is loaded only if there is a server.
    const { joinServer } = await import("./member.ts");
    return servers.map((server) =>
      joinServer(server, {
        version: options.version,
        sandboxes: options.sandboxes,
        accounts: options.accounts,
        connectProblem: () => options.connectProblem?.(),
        idleMs: options.idleMs,
        inputs: options.inputs,
        onToken: options.onToken && ((token) => options.onToken?.(token)),
        timeouts: { ...base, ...server.timeouts },
        patienceMs,
        backoff,
        now,
        mask: (text) => masker.mask(text),
        log: (level, message) => options.log?.({ level, server: server.name, message }),
      }),
    );
  }

  function readStatus(entry: McpServer): McpServerStatus {
    const member = members.find(({ server }) => server === entry);
    if (!member) {
      const problem = entry.state === "invalid" ? { problem: entry.problem } : {};
      return {
        server: entry.name,
        state: entry.state === "invalid" ? "invalid" : "disabled",
        tools: [],
        ...problem,
      };
    }
    const connections = member.connections();
    // Where people have their own, that of one of them stands for all.
    const connection = connections.find((each) => each.state().kind === "ready") ?? connections[0] ?? nobody;
    const state = connection.state();
    const { tools, leftOut } = connection.listing();
    const problems = "problem" in state && state.problem ? [state.problem, ...leftOut] : leftOut;
    return {
      server: entry.name,
      state: state.kind,
      tools: tools.map(({ name }) => name),
      ...(problems.length > 0 ? { problem: problems.join(" ") } : {}),
    };
  }
}

function isEnabled(server: McpServer): server is EnabledServer {
  return server.state === "enabled";
}
