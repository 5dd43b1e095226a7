import type { TurnOutcome } from "../src/agent/events.ts";
import { replay } from "../src/agent/journal/replay.ts";
import { toRecord } from "../src/agent/journal/history.ts";
import type { JournalRecord } from "../src/agent/journal/journal.ts";
import { openMcpPool } from "../src/agent/mcp/pool.ts";
import type { LanguageModel } from "../src/agent/model.ts";
import { createPolicy } from "../src/agent/policy/policy.ts";
import { createMasker } from "../src/agent/secrets/mask-secrets.ts";
import { createSkillLibrary } from "../src/agent/skills/library.ts";
import { createMemoryNotes } from "../src/agent/tools/memory-notes.ts";
import { createAgentRunner } from "../src/app/turns/agent-runner.ts";
import { openSandboxBackend } from "../src/app/sandbox.ts";
import { SurfaceError } from "../src/chat/surface.ts";
import type { Config } from "../src/config/load.ts";
import { createMessageExtras } from "../src/message-extras/message-extras.ts";
import { monitorSandbox } from "../src/sandbox/health.ts";
import type { Sandbox, SandboxBackend } from "../src/sandbox/sandbox.ts";
import { createLog } from "../src/telemetry/log.ts";
import { readerOf } from "../tests/agent/journal-reader.ts";

/** The agent as a worker runs it, for one workspace after the other: without chat, queue and Redis. */
export interface EvalAgent {
  /** A workspace of this name. */
  open(name: string): Promise<Sandbox>;
  /** Works in it until the turn ends, as if somebody had written `ask`. */
  work(name: string, ask: string, model: LanguageModel): Promise<TurnOutcome>;
  /** What keeps commands from running, for people; empty where nothing does. */
  problem: string;
  close(): Promise<void>;
}

const claim = { created: 0, epoch: 1 };
const shippedSkills = `${import.meta.dirname}/../skills`;

/** @param dataDir for everything that it writes */
export async function openEvalAgent(config: Config, dataDir: string): Promise<EvalAgent> {
  const { settings } = config;
  const masker = createMasker(config.secrets);
  const log = createLog("silent", masker, { terminal: false });
  const skills = createSkillLibrary({
    folders: settings.skills.folders ?? [shippedSkills],
    pins: settings.skills.pins,
  });
  // Workspaces of tasks do not belong into the operator's store.
  const { store: _, ...workspaces } = settings.workspaces;
  const backend: SandboxBackend = openSandboxBackend(
    { ...config, dataDir, settings: { ...settings, workspaces } },
    { readOnly: skills.mounts },
  );
  const sandbox = monitorSandbox(backend, { info: () => {}, warn: () => {} });
  const { problems, ok } = await sandbox.refresh();
  const mcp = await openMcpPool({ config: { servers: [], secrets: [] }, version: "0" });
  const onProblem = (problem: string, error: unknown) => {
    throw new Error(problem, { cause: error });
  };
  const surface = () => {
    throw new SurfaceError("rejected", "Nobody is here to take a file.");
  };
  const messageExtras = createMessageExtras({
    files: { files: 0, fileBytes: 0, messageBytes: 0, downloadMs: 1 },
    room: { messages: 0, characters: 1_000 },
    mayAsk: () => true,
    ...{ surface, onProblem },
  });
  const threadOf = (name: string) => `eval:tasks:main:${name}`;

  return {
    problem: ok ? "" : problems.map(({ what, fix }) => `${what} ${fix}`).join(" "),
    open: (name) => backend.open(threadOf(name), claim),

    async work(name, ask, model) {
      const thread = threadOf(name);
      const author = { id: "U1", name: "Ada" };
      const message = { role: "user", id: "m1", author, text: ask, at: Date.now() } as const;
      const journal: JournalRecord[] = [
        { type: "turn-start", turn: "t1", at: message.at },
        { type: "user", message },
      ];
      const { agent, compaction, tools } = settings;
      const runner = createAgentRunner({
        choose: () => model,
        summariser: model,
        limits: { steps: agent.maxSteps, wallMs: agent.maxMinutes * 60_000 },
        compaction,
        budgets: { turnBudget: () => ({ reserve: async () => ({ ok: true, settle: async () => {} }) }) },
        instructions: agent.instructions,
        channel: () => ({}),
        notes: () => createMemoryNotes({ author: author.name, now: Date.now }),
        journal: () => readerOf(() => journal),
        policy: createPolicy(
          [{ tool: "ask_user", action: "deny", why: "Nobody is here to answer: decide yourself." }],
          "allow",
        ),
        questionMs: tools.questionMinutes * 60_000,
        ...{ messageExtras, sandbox, surface, skills, mcp, masker, log },
      });
      const events = runner.run({
        thread,
        turn: "t1",
        claim,
        areApproved: async () => false,
        history: replay(journal),
        chosen: {},
        followUps: async () => [],
        store: async (record) => void (record && journal.push(record)),
        emit: () => {},
        signal: new AbortController().signal,
      });
      for (;;) {
        const next = await events.next();
        if (next.done) return next.value;
        const record = toRecord(next.value, Date.now());
        if (record) journal.push(record);
      }
    },

    async close() {
      await mcp.close();
      await backend.close();
    },
  };
}
