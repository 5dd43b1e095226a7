import { rmSync } from "node:fs";
import { connect } from "node:net";
import type { Question } from "../../src/agent/questions.ts";
import type { ToolMessage } from "../../src/agent/messages.ts";
import { createMasker } from "../../src/agent/secrets/mask-secrets.ts";
import type { Dispatcher } from "../../src/agent/tools/dispatch/dispatch.ts";
import { createRepositoryTools } from "../../src/agent/tools/repositories/repositories.ts";
import { createStaticCredential, type RepositoryCredential } from "../../src/repositories/credential.ts";
import {
  createRepositories,
  type PushedBranch,
  type RepositorySettings,
} from "../../src/repositories/repositories.ts";
import { createBubblewrapBackend } from "../../src/sandbox/bubblewrap/backend.ts";
import { createEgress } from "../../src/sandbox/egress/egress.ts";
import type { SandboxLimits } from "../../src/sandbox/limits.ts";
import type { RegistryReach } from "../../src/sandbox/egress/site.ts";
import type { Sandbox, SandboxBackend } from "../../src/sandbox/sandbox.ts";
import { callOf, dispatcherOf, memoryNotes, run } from "../agent/tools/services.ts";
import { type FakeGithub, startGithub } from "../fakes/github.ts";
import { dataFolder } from "../sandbox/two-threads.ts";

/** Threads of one channel that has the repository `shop` at a GitHub, in real sandboxes. */
export interface Setting {
  github: FakeGithub;
  backend: SandboxBackend;
  dataDir: string;
  /** Another process of the same host, as far as files go. */
  addWorker(): SandboxBackend;
  remembered: PushedBranch[];
  log: string[];
  /** A new thread, or one by its name. */
  thread(options?: ThreadOptions): Promise<ThreadOfSetting>;
  close(): Promise<void>;
}

interface ThreadOptions {
  id?: string;
  /** Default: as configured by default. */
  settings?: Partial<RepositorySettings>;
  /** What the set-up reaches. */
  reach?: RegistryReach;
  credential?: RepositoryCredential;
  worker?: SandboxBackend;
}

export interface ThreadOfSetting {
  id: string;
  sandbox: Sandbox;
  dispatcher: Dispatcher;
  /** Calls a tool as the model does, with the approval that it needs. */
  use(tool: string, input: object): Promise<ToolMessage>;
  /** What people would be asked. */
  ask(
    tool: string,
    input: object,
  ): Promise<(Pick<Question, "kind"> & { why?: string; file?: { name: string; text: string } }) | undefined>;
  /** Runs a command, both streams. */
  sh(command: string): Promise<string>;
}

const noReach: RegistryReach = { hosts: [], sites: [], variables: {} };

export const token = "ghp_canaryCanaryCanaryCanaryCanaryCanary47";

export async function openSetting({
  now,
  mirrorBytes = 0,
  limits,
}: {
  now?(): number;
  mirrorBytes?: number;
  limits?: SandboxLimits;
} = {}): Promise<Setting> {
  const dataDir = dataFolder();
  const github = await startGithub(now ? { now } : {});
  github.addRepository("acme/shop", { "README.md": "# A shop\n", "AGENTS.md": "Be brief.\n" });
  github.addRepository("acme/other");
  github.addToken(token, ["acme/shop", "acme/other"]);
  const remembered: PushedBranch[] = [];
  const log: string[] = [];
  const opened = new Map<
    string,
    {
      settings: Partial<RepositorySettings>;
      reach: RegistryReach | undefined;
      credential: RepositoryCredential;
    }
  >();
  const listOf = (thread: string) => {
    const own = opened.get(thread);
    return (
      own &&
      createRepositories({
        settings: {
          shop: {
            // A name that is no loopback address: those are never asked for by way of the proxy.
            url: `http://git.example:${github.port}/acme/shop`,
            ...{ kind: "github", apiUrl: github.origin, push: "ask" },
            ...own.settings,
          },
        },
        namesOf: () => ["shop"],
        ...(own.reach && { reachOf: () => own.reach ?? noReach }),
        credentialOf: () => own.credential,
        remember: async (entry) => void remembered.push(entry),
        now: () => 1,
      })
    );
  };
  const all = new Map<string, NonNullable<ReturnType<typeof listOf>>>();
  const egress = createEgress({
    rules: { allow: [], channels: {}, credentials: [] },
    repositoriesOf: (thread) => all.get(thread)?.egressOf?.(thread) ?? [],
    limits: { connections: 8, bytesPerDay: 1e9 },
    dialer: {
      resolve: async (host) => (host.endsWith(".example") ? ["127.0.0.1"] : []),
      connect: (address, port) => connect(port, address),
      secure: (socket) => socket,
    },
    log: (line) => log.push(line),
  });
  const options = {
    ...{ dataDir, egress, mirrorBytes, log: (line: string) => void log.push(line) },
    ...(limits && { limits }),
  };
  const backend = createBubblewrapBackend(options);
  const others: SandboxBackend[] = [];
  let threads = 0;
  return {
    ...{ github, backend, dataDir, remembered, log },
    addWorker() {
      const worker = createBubblewrapBackend(options);
      others.push(worker);
      return worker;
    },
    async thread({
      id = `local:w:c:${++threads}`,
      settings = {},
      reach,
      credential = createStaticCredential(token),
      worker = backend,
    } = {}) {
      opened.set(id, { settings, reach, credential });
      const repositories = listOf(id);
      if (!repositories) throw new Error("no thread");
      all.set(id, repositories);
      const sandbox = await worker.open(id);
      const access = repositories.open(id, () => ({ id: "U1", name: "Ada @here <b>" }));
      if (!access) throw new Error("no repositories");
      const dispatcher = dispatcherOf({
        tools: createRepositoryTools(access),
        services: { sandbox, repositories: access, notes: memoryNotes(), now: Date.now },
        masker: createMasker([token]),
      });
      const signal = new AbortController().signal;
      return {
        ...{ id, sandbox, dispatcher },
        async use(name, input) {
          const call = callOf(name, input);
          await dispatcher.reviewCalls([call], signal);
          if (!dispatcher.findAsking(call)) return await run(dispatcher, name, input);
          await dispatcher.readFiles(call, signal);
          const decision = { kind: "approved", by: { id: "U1", name: "Ada" }, at: 1 } as const;
          return (await dispatcher.dispatch(call, signal, { decision })).message;
        },
        async ask(name, input) {
          const call = callOf(name, input);
          await dispatcher.reviewCalls([call], signal);
          return dispatcher.findAsking(call);
        },
        async sh(command) {
          const { stdout, stderr } = await sandbox.exec({ command: `${command}\n` });
          return Buffer.concat([stdout, stderr]).toString().trim();
        },
      };
    },
    async close() {
      await Promise.all([backend, ...others].map((each) => each.close()));
      await github.close();
      rmSync(dataDir, { recursive: true });
    },
  };
}
