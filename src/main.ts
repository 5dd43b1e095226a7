/** The command line: names the command, loads only what it needs, and turns failures into one sentence. */

const usage = `Heddle: an agent for your team's chat.

  heddle start [--role all|gateway|worker]   connect to chat, serve the console, run turns
  heddle run "<task>" [--json]               one task in this terminal; Ctrl-C stops it
  heddle doctor [--json]                     check everything that Heddle needs, with the fix for what is wrong
  heddle health                              exit with 0 while this host's Heddle serves
  heddle manifest slack|discord              print what creates or invites the app
  heddle threads list | show <thread>        what the sessions are, and what was said
  heddle workspaces list | export <thread> [file] | clean
                                             the threads' files: which there are, one as tar, archive idle ones
  heddle audit verify | show | export        who asked and stopped, what ran; and that nobody has changed it
  heddle schedules list | cancel <thread> <id>
                                             what is planned for later, in all threads
  heddle usage [--days N] [--by day|user|channel|model]
                                             tokens, cost and turns of the last days
  heddle stop <thread>                       stop what runs in a thread

From a clone: npm run heddle -- <command>
`;

const commands: Record<string, () => Promise<{ command(args: string[]): Promise<number> }>> = {
  start: () => import("./commands/start.ts"),
  run: () => import("./commands/run.ts"),
  doctor: () => import("./commands/doctor.ts"),
  health: () => import("./commands/health.ts"),
  manifest: () => import("./commands/manifest.ts"),
  threads: () => import("./commands/threads.ts"),
  workspaces: () => import("./commands/workspaces.ts"),
  audit: () => import("./commands/audit.ts"),
  schedules: () => import("./commands/schedules.ts"),
  usage: () => import("./commands/usage.ts"),
  stop: () => import("./commands/stop.ts"),
};

/** Failures with a sentence for people; everything else is a defect and keeps its stack. */
const expectedErrors = new Set([
  "ConfigError",
  "RedisUnavailable",
  "UsageError",
  "StartError",
  "ModelError",
  "McpConfigError",
  "AuditBusy",
]);

async function main(argv: string[]): Promise<number> {
  // Whoever reads the output may go before its end, as `head` does: what is to be done is done all the same.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  const [name = "", ...args] = argv;
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!load) {
    const known = name === "" || name === "help" || name === "--help" || name === "-h";
    process[known ? "stdout" : "stderr"].write(known ? usage : `Unknown command "${name}".\n\n${usage}`);
    return known ? 0 : 2;
  }
  try {
    return await (await load()).command(args);
  } catch (error) {
    if (error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS")) {
      process.stderr.write(`${error.message}\n\n${usage}`);
      return 2;
    }
    if (error instanceof Error && expectedErrors.has(error.name)) {
      process.stderr.write(`heddle: ${error.message}\n`);
      return error.name === "UsageError" ? 2 : 1;
    }
    throw error;
  }
}

process.exitCode = await main(process.argv.slice(2));
