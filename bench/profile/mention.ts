import { says } from "../../tests/fakes/anthropic-replies.ts";
import { watchCommands } from "../../tests/fakes/redis-commands.ts";
import { askInSlack } from "../ask.ts";
import { reasonOf } from "../figure.ts";
import { workerOf } from "../process-tree.ts";
import { serveThread } from "../served-thread.ts";
import { recorded, recorderEnvironment } from "./recorded-program.ts";
import { costTables, countTable, type Section, systemCallTable } from "./section.ts";
import { countSystemCalls } from "./system-calls.ts";

const [warmUp, mentions, counted] = [10, 40, 8];

/** Everything between a mention and the end of its turn, answered at once. */
export async function profileMention(): Promise<Section> {
  await using served = await serveThread(() => says("Here is the answer."));
  const program = await served.heddle([], recorderEnvironment(served, "signal"));
  const pid = workerOf(program.pid);
  let channel = 0;
  const mention = async (times: number) => {
    for (let at = 0; at < times; at += 1) {
      channel += 1;
      await askInSlack(served, "<@BOT> hello", `talk-${channel}`);
    }
  };
  await mention(warmUp);
  const costs = await recorded(program, pid, () => mention(mentions));
  const tables = costTables(costs, "mention", mentions);
  const watch = await watchCommands(served.redis);
  await watch.take();
  await mention(counted);
  const commands = new Map<string, number>();
  for (const { name, args, isBullMq } of await watch.take()) {
    const key = `${isBullMq ? "BullMQ" : "Heddle"}: ${name}${subject(name, args)}`;
    commands.set(key, (commands.get(key) ?? 0) + 1);
  }
  watch.close();
  tables.push({
    caption: "Redis commands of a whole turn, until its marks are set (what a script runs is not counted).",
    table: countTable(commands, "command", "mention", counted),
  });
  const missing: string[] = [];
  try {
    const calls = await countSystemCalls(pid, () => mention(counted));
    tables.push(systemCallTable(calls, "mention", counted));
  } catch (error) {
    missing.push(`system calls of a mention: ${reasonOf(error)}`);
  }
  return {
    title: "A mention",
    method:
      "Gateway and worker in one process beside a Slack and a model on the loopback interface: a mention in a new thread of another channel each time, answered at once, until the ✅ and a tenth of a second of silence.",
    tables,
    missing,
  };
}

/** Which keys a command is about, with the names of threads and hashes taken out. */
function subject(name: string, args: readonly string[]): string {
  const key = name === "evalsha" ? args[2] : args[0];
  if (key === undefined || !/^(heddle:|\{heddle\})/.test(key)) return "";
  const plain = key
    .replace(/\{[^}]*:[^}]*\}/g, "{id}")
    .replace(/[0-9a-f]{8,}|\d{4}-\d\d-\d\d|\d{6,}(\.\d+)?/g, "…");
  return ` \`${plain}\``;
}
