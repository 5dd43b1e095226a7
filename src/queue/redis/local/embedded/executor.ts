import {
  type CommandExecutor,
  createRedisCommandExecutor,
  RedisResult,
  type RedisServerState,
} from "js-redis-server/core";
import { recordEffects } from "./effects.ts";
import type { Log } from "./log.ts";
import type { Effect } from "./record.ts";
import { shareValues } from "./share-values.ts";

/**
 * Writes what each command did before it is answered, and answers with an error what is not in the file. A command, a
 * transaction and a script each have the database to themselves until `executeRaw` returns.
 */
export function createRecordingExecutor(
  state: RedisServerState,
  log: Pick<Log, "append" | "failure">,
): CommandExecutor {
  const executor = createRedisCommandExecutor({ compatibility: state.profile });
  let effects: Effect[] = [];
  const database = state.getDatabase(0);
  shareValues(database);
  recordEffects(state, database, (effect) => effects.push(effect));
  const execute = executor.executeRaw.bind(executor);
  const refuse = (failure: string) =>
    RedisResult.error(
      `The embedded Redis cannot write its files: ${failure}. Nothing is accepted.`,
      "MISCONF",
    );
  executor.executeRaw = async (command, args, context) => {
    const failure = writes(executor, command) ? log.failure() : undefined;
    if (failure !== undefined) return refuse(failure);
    let written = false;
    const write = () => {
      if (effects.length === 0) return;
      log.append(effects);
      effects = [];
      written = true;
    };
    const result = await execute(command, args, context).finally(write);
    const unwritten = written ? log.failure() : undefined;
    return unwritten === undefined ? result : refuse(unwritten);
  };
  return executor;
}

function writes(executor: CommandExecutor, command: Buffer | string): boolean {
  const name = command.toString().toLowerCase();
  return name === "exec" || (executor.getCommandDefinition(name)?.flags.includes("write") ?? false);
}
