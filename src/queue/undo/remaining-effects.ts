import { openPullRequestName, openRepositoryName } from "../../agent/contracts/repositories.ts";
import { findPush } from "../../agent/pushes.ts";
import { proposePlanName } from "../../agent/planning.ts";
import { cutWords } from "../../agent/text/text.ts";
import { webFetchName, webSearchName } from "../../agent/contracts/web.ts";
import type { PastTurn } from "./find-turns.ts";

/** Tools whose effects, if they have any, lie in the workspace or in the conversation. */
const undoable: ReadonlySet<string> = new Set([
  ...["read_file", "write_file", "edit_file", "list_files", "search_files", "bash_output", "bash_kill"],
  ...["search_history", "recall_notes", "todo", "get_skill", "ask_user", "find_tools", proposePlanName],
  ...[webFetchName, webSearchName, "share_port", "share_folder", openRepositoryName, "task"],
]);

/** What a call of these has done that stays. */
const told: Readonly<Record<string, (count: number) => string>> = {
  attach_file: (count) => `${count === 1 ? "a file" : `${count} files`} posted here`,
  schedule: (count) =>
    `${count === 1 ? "a change" : `${count} changes`} of schedules (\`schedules\` lists them)`,
  record_note: (count) => `${count === 1 ? "a note" : `${count} notes`} on record`,
  update_note: (count) => `${count === 1 ? "a note" : `${count} notes`} changed`,
  forget_note: (count) => `${count === 1 ? "a note" : `${count} notes`} forgotten`,
  [openPullRequestName]: (count) => (count === 1 ? "a pull request" : `${count} pull requests`),
};

const commandChars = 80;

/** Whether a call may have written files, so that the turn must have a checkpoint. */
export function mayWriteFiles(name: string): boolean {
  return ["bash", "write_file", "edit_file", openRepositoryName, "task"].includes(name);
}

/** What stays done though the turns are undone, for people; the calls in the journal are all that is known of it. */
export function listRemainingEffects(turns: readonly PastTurn[]): string[] {
  const calls = turns.toReversed().flatMap((turn) => turn.calls.map(nameDeferred));
  const counts = new Map<string, number>();
  const pushes = new Set<string>();
  for (const { name, input } of calls) {
    const command = name === "bash" ? readCommand(input) : undefined;
    if (name === "bash") {
      const pushed = command && findPush(command);
      if (pushed !== undefined) pushes.add(cutWords(pushed.replaceAll("`", "'"), commandChars));
    } else if (!undoable.has(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const others = [...counts].map(
    ([name, count]) => told[name]?.(count) ?? `${count === 1 ? "a call" : `${count} calls`} of \`${name}\``,
  );
  const commands = calls.some(({ name }) => name === "bash")
    ? ["what commands have sent over the network"]
    : [];
  return [...[...pushes].map((pushed) => `a push (\`${pushed}\`)`), ...others, ...commands];
}

/** One by way of `call_tool` is named in its input. */
function nameDeferred<Call extends PastTurn["calls"][number]>(call: Call): Call {
  const { name, input } = call;
  const isDeferred = name === "call_tool" && typeof input === "object" && input !== null && "name" in input;
  return isDeferred && typeof input.name === "string" ? { ...call, name: input.name } : call;
}

function readCommand(input: unknown): string | undefined {
  const isKnown = typeof input === "object" && input !== null && "command" in input;
  return isKnown && typeof input.command === "string" ? input.command : undefined;
}
