/** What bubblewrap does for a command, as a whole and without each of its costly parts. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { buildCommandLine, closedInProc, launchEnvironment } from "../src/sandbox/bubblewrap/command-line.ts";
import { inspectHost } from "../src/sandbox/bubblewrap/inspect-host.ts";
import { defaultLimits } from "../src/sandbox/limits.ts";
import { workspaceRoot } from "../src/sandbox/sandbox.ts";
import { timed, type Variant } from "./measure.ts";

const whole = "bubblewrap with all that a sandbox has";

/** bwrap's options that make one part, each with what stands behind it. */
type Part = readonly (readonly string[])[];

const hostFiles = ["/etc/ld.so.cache", "/etc/alternatives", "/etc/ssl/certs"];

/** @param folder of the thread */
const partsOf = (folder: string): Record<string, Part> => ({
  "a network of its own": [["--unshare-net"]],
  "a /dev of its own": [
    ["--dev", "/dev"],
    ["--bind", `${folder}/shm`, "/dev/shm"],
    ["--remount-ro", "/dev"],
  ],
  "a /proc of its own": [
    ["--proc", "/proc"],
    ...closedInProc.map((path) => ["--ro-bind", "/dev/null", path]),
  ],
  "the ban of user namespaces": [["--disable-userns"]],
  "certificates, alternatives and the linker's cache": hostFiles.map((path) => ["--ro-bind-try", path, path]),
});

/** Each starts `true` in a sandbox of that thread, which was opened before, without limits, filter, notes and proof. */
export async function createParts(dataDir: string, thread: string): Promise<Variant<string>[]> {
  const inspected = inspectHost({ dataDir, limits: defaultLimits, requiresGroups: false });
  if (!inspected.ok) throw new Error(inspected.problem.what);
  const { host } = inspected;
  const folder = host.folderOf(thread);
  const line = buildCommandLine(
    host,
    folder,
    { program: ["true"], cwd: workspaceRoot, fileBytes: host.limits.fileBytes },
    { entrances: [] },
  );
  const all = line.slice(line.indexOf("bwrap") + 1, line.indexOf("--seccomp"));
  const variant = (name: string, args: readonly string[]): Variant<string> => ({
    name,
    run: async () => [
      await timed(async () => {
        const command = [...args, "--", "/bin/bash", "-c", "true"];
        const options = { ...folder.owner, cwd: "/", env: launchEnvironment, stdio: "ignore" } as const;
        const [code] = await once(spawn("bwrap", command, options), "close");
        if (code !== 0) throw new Error(`bwrap ended with ${String(code)} (${name}).`);
      }),
    ],
  });
  const parts = Object.entries(partsOf(folder.path));
  return [
    variant(whole, all),
    ...parts.map(([name, part]) => variant(`the same without ${name}`, part.reduce(leaveOut, all))),
  ];
}

function leaveOut(args: readonly string[], option: readonly string[]): string[] {
  const at = args.findIndex((_arg, index) => option.every((word, offset) => args[index + offset] === word));
  if (at < 0)
    throw new Error(`bubblewrap is not given ${option.join(" ")}: the list of parts is out of date.`);
  return args.toSpliced(at, option.length);
}
