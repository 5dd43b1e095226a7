import { formatNoteIndex } from "../../agent/loop/prompt/note-index.ts";
import { createProjectReader } from "../../agent/loop/prompt/project-instructions.ts";
import type { SubAgentOptions } from "../../agent/loop/sub-agent.ts";
import type { UserMessage } from "../../agent/messages.ts";
import type { LanguageModel } from "../../agent/model.ts";
import type { NoteStore } from "../../agent/contracts/note-store.ts";
import type { Planning } from "../../agent/planning.ts";
import type { ToolServices } from "../../agent/tools/tool.ts";
import { SurfaceError } from "../../chat/surface.ts";
import { parseThreadId, type ThreadId } from "../../chat/threads.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { TurnRunnerOptions } from "./turn-runner-options.ts";

/**
 * @param asked the people's messages of the turn; grows while it runs
 * @param use.model what tools use that call a model, metered
 */
export function createServices(
  options: TurnRunnerOptions,
  thread: ThreadId,
  asked: readonly UserMessage[],
  { sandbox, model }: { sandbox: Sandbox | undefined; model: LanguageModel },
): ToolServices {
  const history = options.journal(thread);
  const web = options.web?.open(thread, history, model);
  const repositories = options.repositories?.open(thread, () => asked.at(-1)?.author);
  return {
    notes: options.notes(thread, () => asked.map(({ author }) => author)),
    ...(options.schedules && { schedules: options.schedules(thread, () => asked.at(-1)) }),
    history,
    ...(web && { web }),
    ...(options.previews && { previews: options.previews.of(thread) }),
    ...(repositories && { repositories }),
    now: Date.now,
    ...(sandbox && { sandbox }),
    deliver: deliverTo(thread, options),
  };
}

function deliverTo(
  thread: ThreadId,
  { surface }: Pick<TurnRunnerOptions, "surface">,
): NonNullable<ToolServices["deliver"]> {
  const ref = parseThreadId(thread);
  return async ({ name, data, key, signal }) => {
    try {
      await surface(ref.platform).upload(ref, { name, data }, key, signal);
      return { ok: true };
    } catch (error) {
      if (!(error instanceof SurfaceError)) throw error;
      return { ok: false, message: error.message };
    }
  };
}

/** Its commands write nothing while a plan is still to be approved. */
export function keepFromWriting(sandbox: Sandbox, planning: Pick<Planning, "isOn">): Sandbox {
  return {
    ...sandbox,
    exec: (request) => sandbox.exec(planning.isOn() ? { ...request, isReadOnly: true } : request),
  };
}

/** The turn and each of its sub-agents have a reader of their own. */
export function provideProjectReader(
  { masker }: Pick<TurnRunnerOptions, "masker">,
  {
    sandbox,
    model,
    signal,
    log,
  }: { sandbox: Sandbox; model: LanguageModel; signal: AbortSignal; log: Logger },
): Required<Pick<SubAgentOptions, "createProjectReader">> {
  const { contextTokens } = model.limits;
  const onError = (error: unknown) => log.error({ err: error }, "the project instructions could not be read");
  return {
    createProjectReader: () => createProjectReader({ sandbox, masker, contextTokens, signal, onError }),
  };
}

export async function readNoteIndex(notes: NoteStore, log: Logger): Promise<string | undefined> {
  try {
    return formatNoteIndex(await notes.list());
  } catch (error) {
    // A turn without its notes is better than none.
    log.error({ err: error }, "the notes could not be read");
    return undefined;
  }
}
