import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { TestRedis } from "./redis.ts";

/** A command that a client sent; what a script does inside is not one. */
export interface SentCommand {
  /** In lower case. */
  name: string;
  args: readonly string[];
  /** Of BullMQ's own, told by its keys. */
  isBullMq: boolean;
}

/** Sees every command that clients send to a Redis, in the order in which it runs them. */
export interface CommandWatch {
  /** Those since the last call, up to now. */
  take(): Promise<SentCommand[]>;
  close(): void;
}

/** Needs the system's server: the embedded one has no MONITOR. */
export async function watchCommands(server: TestRedis): Promise<CommandWatch> {
  const client = server.client();
  const monitor = await client.monitor();
  let seen: SentCommand[] = [];
  monitor.on("monitor", (_time: string, [name = "", ...args]: string[], source: string) => {
    if (source === "lua") return;
    seen.push({ name: name.toLowerCase(), args, isBullMq: args.some((arg) => arg.startsWith("{heddle}:")) });
  });
  return {
    async take() {
      const mark = randomUUID();
      const isMark = ({ name, args }: SentCommand) => name === "echo" && args[0] === mark;
      await client.echo(mark);
      while (!seen.some(isMark)) await once(monitor, "monitor");
      const end = seen.findIndex(isMark);
      const taken = seen.slice(0, end);
      seen = seen.slice(end + 1);
      return taken;
    },
    close: () => monitor.disconnect(),
  };
}
