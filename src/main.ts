/** The command line: names the command, loads only what it needs, and turns failures into one sentence. */
import { endWithSupervisor } from "./app/supervised.ts";
import { silences } from "./queue/redis/silence.ts";
import { explainRefusal } from "./queue/redis/unavailable.ts";

endWithSupervisor();

interface Command {
  /** How it is called, and what it is for. */
  usage: string;
  /** It asks Redis, and ends with a sentence when that is silent; the others wait for it or say so themselves. */
  asksRedis?: true;
  load(): Promise<{ command(args: string[]): Promise<number> }>;
}

const commands: Record<string, Command> = {
  start: {
    usage: "  heddle start [--role all|gateway|worker]   connect to chat, serve the console, run turns",
    load: () => import("./commands/start.ts"),
  },
  run: {
    usage: `  heddle run "<task>" [--json] [--thread id] one task in this terminal; Ctrl-C stops it`,
    load: () => import("./commands/run.ts"),
  },
  doctor: {
    usage:
      "  heddle doctor [--json]                     check everything that Heddle needs and suggest fixes",
    load: () => import("./commands/doctor.ts"),
  },
  health: {
    usage: "  heddle health                              exit 0 if this Heddle is running",
    asksRedis: true,
    load: () => import("./commands/health.ts"),
  },
  manifest: {
    usage: `  heddle manifest slack [--url <https://…>]  print the app manifest, for Socket Mode or for requests to a URL
  heddle manifest discord                    print the invite link and the settings to switch on`,
    load: () => import("./commands/manifest.ts"),
  },
  threads: {
    usage: `  heddle threads list | show <thread>        list threads or print a transcript
      show <thread> [--before <record>]   an older part of a long one`,
    asksRedis: true,
    load: () => import("./commands/threads.ts"),
  },
  workspaces: {
    usage: `  heddle workspaces list | export <thread> [file] | clean
                                             list the threads' files, export one as tar, or archive idle ones`,
    load: () => import("./commands/workspaces.ts"),
  },
  audit: {
    usage: `  heddle audit verify | show | export        print who asked, stopped and ran what, or verify that the log is intact
      verify [--anchor <n>:<hash>] [--unkeyed-until <n>]
      show | export [file.jsonl] [--thread <thread>] [--workspace <platform:workspace>]`,
    asksRedis: true,
    load: () => import("./commands/audit.ts"),
  },
  schedules: {
    usage: `  heddle schedules list | cancel <thread> <id>
                                             list or cancel scheduled tasks of all threads`,
    asksRedis: true,
    load: () => import("./commands/schedules.ts"),
  },
  usage: {
    usage: `  heddle usage [--days N] [--by day|user|channel|model]
                                             show tokens, cost and turns of the last days`,
    asksRedis: true,
    load: () => import("./commands/usage.ts"),
  },
  questions: {
    usage: `  heddle questions list | approve <thread> <id> | deny <thread> <id> [reason]
                                             list what agents ask people, or decide about a call`,
    load: () => import("./commands/questions.ts"),
  },
  mcp: {
    usage: `  heddle mcp list | login <server> [--port N] | logout <server>
                                             sign in to MCP servers that take an account of the installation`,
    load: () => import("./commands/mcp.ts"),
  },
  stop: {
    usage: "  heddle stop <thread>                       stop whatever runs in a thread",
    asksRedis: true,
    load: () => import("./commands/stop.ts"),
  },
};

const usage = `Heddle: an agent for your team's chat.

${Object.values(commands)
  .map((command) => command.usage)
  .join("\n")}

From a clone: npm run heddle -- <command>
`;

/** Failures with a sentence for people; everything else is a defect and keeps its stack. */
const expectedErrors = new Set([
  "ConfigError",
  "RedisUnavailable",
  "UsageError",
  "StartError",
  "ModelError",
  "McpConfigError",
  "AuditBusy",
  "DemoScriptError",
]);

/** Of `start`, whose configuration only a person can correct, so that nobody starts it again and again. EX_CONFIG of sysexits.h. */
const badConfigurationCode = 78;
const configurationErrors = new Set(["ConfigError", "McpConfigError"]);

async function main(argv: string[]): Promise<number> {
  // Whoever reads the output may go before its end, as `head` does: what is to be done is done all the same.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  const [name = "", ...args] = argv;
  const known = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!known) {
    const asked = ["", "help", "--help", "-h"].includes(name);
    process[asked ? "stdout" : "stderr"].write(
      asked ? usage : `heddle: Unknown command "${name}".\n\n${usage}`,
    );
    return asked ? 0 : 2;
  }
  if (args[0] === "--help" || args[0] === "-h") {
    process.stdout.write(`${known.usage}\n`);
    return 0;
  }
  if (known.asksRedis) endWithoutRedis();
  try {
    return await (await known.load()).command(args);
  } catch (error) {
    return explainFailure(error, known);
  }
}

/** What waits for Redis would keep the process. */
function endWithoutRedis(): void {
  silences.subscribe(() => {
    process.stderr.write(
      "heddle: Redis takes connections and does not answer: look whether its server hangs, and at REDIS_URL. Then try again.\n",
    );
    process.exit(1);
  });
}

/** Prints a failure that a person can put right and gives its exit code; a defect is thrown on. */
function explainFailure(error: unknown, command: Command): number {
  if (error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS")) {
    // After its first sentence Node explains its parser.
    process.stderr.write(`heddle: ${error.message.split(/\.(\s|$)/)[0]}.\n\n${command.usage}\n`);
    return 2;
  }
  if (error instanceof Error && expectedErrors.has(error.name)) {
    process.stderr.write(`heddle: ${error.message}\n`);
    if (error.name === "UsageError") return 2;
    return command === commands["start"] && configurationErrors.has(error.name) ? badConfigurationCode : 1;
  }
  const refusal = explainRefusal(error);
  if (refusal === undefined) throw error;
  process.stderr.write(`heddle: ${refusal}\n`);
  return 1;
}

process.exitCode = await main(process.argv.slice(2));
