import { z } from "zod";
import { registryMirrorsSchema } from "./registries.ts";
import { channelId, count, hostName, hosts } from "./values.ts";

/** What commands may use and reach, and how long their files are kept, in `heddle.yaml`. */

export const toolChainName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_.-]{0,39}$/, "expected a short name in small letters, e.g. go");

export const sandboxSchema = z
  .strictObject({
    backend: z
      .enum(["auto", "none"])
      .default("auto")
      .describe(
        "auto: bubblewrap, which needs Linux. none: no isolation at all; needs HEDDLE_UNSAFE=no-sandbox as well, and no chat platform",
      ),
    require: z
      .enum(["any", "cgroup"])
      .default("any")
      .describe("cgroup: refuse to run commands where no control group holds their limits"),
    commandSeconds: count(1, 600).default(120).describe("time limit of a command that asks for no other"),
    commandSecondsMax: count(1, 600).default(600).describe("longest time limit that a command can ask for"),
    jobMinutes: count(1, 35_000).default(360).describe("time limit of a background job"),
    outputKb: count(16, 1_048_576)
      .default(4096)
      .describe("output kept of a command that sets no limit; killed at 16 times as much"),
    jobOutputKb: count(16, 1_048_576)
      .default(8192)
      .describe("output kept of a background job, its end; killed at 16 times as much"),
    memoryMb: count(32, 1_048_576).default(2048).describe("memory of a command and its children"),
    processMemoryMb: count(32, 1_048_576).default(1024).describe("private memory of a single process"),
    processes: count(8, 100_000).default(200).describe("processes of a command"),
    threadMemoryMb: count(32, 1_048_576)
      .exactOptional()
      .describe("memory of a thread's commands and jobs together; without it twice memoryMb"),
    threadProcesses: count(8, 100_000)
      .exactOptional()
      .describe("processes of a thread's commands and jobs together; without it twice processes"),
    allMemoryMb: count(32, 16_777_216)
      .exactOptional()
      .describe("memory of all commands and jobs of a worker; without it 75 % of what the machine has"),
    allProcesses: count(8, 1_000_000)
      .exactOptional()
      .describe("processes of all commands and jobs of a worker; without it 20 times processes"),
    cpus: z.number().min(0.05).max(1024).default(2).describe("CPUs of a command; needs a control group"),
    fileMb: count(1, 1_048_576).default(256).describe("largest file that a command may write"),
    workspaceMb: count(1, 1_048_576).default(4096).describe("all files of a thread, on disk"),
    workspaceFiles: count(100, 100_000_000).default(400_000).describe("number of files of a thread"),
    freeMb: count(0, 1_048_576).default(512).describe("free disk below which no thread may write"),
    toolChains: z
      .record(
        toolChainName,
        z.string().regex(/^\/[^:\0]*[^:\0/]$/, "expected an absolute folder, e.g. /opt/go"),
      )
      .default({})
      .describe(
        "folders of this machine with programs that channels can have ready, by a name of your own, e.g. go: /opt/go; their bin comes first on PATH",
      ),
    mirrorMb: count(0, 16_777_216)
      .default(8192)
      .describe(
        "what is kept of repositories on this machine, so that each thread need not fetch them whole; those used least recently go first, and 0 keeps none",
      ),
    jobsPerThread: count(0, 100).default(4).describe("background jobs of one thread"),
    jobs: count(0, 10_000).default(32).describe("background jobs of all threads of a worker"),
  })
  .prefault({});

export const egressSchema = z
  .strictObject({
    allow: hosts.describe(
      "hosts that commands of every thread may reach (ports 80 and 443): example.com or *.example.com",
    ),
    channels: z
      .record(channelId, z.strictObject({ allow: hosts.describe("hosts") }))
      .default({})
      .describe("more hosts for a channel's threads, e.g. slack:T012345:C012345"),
    credentials: z
      .array(
        z.strictObject({
          host: z
            .string()
            .regex(hostName, "expected a host's name, e.g. api.example.com")
            .describe("requests to this host; it must be allowed as well"),
          header: z
            .string()
            .regex(/^[A-Za-z0-9-]+$/, "expected the name of a header")
            .default("authorization")
            .describe("the name of the header"),
          variable: z
            .string()
            .min(1)
            .describe('the environment variable with its whole value, e.g. "Bearer ..." or "Basic ..."'),
          channels: z.array(channelId).exactOptional().describe("only in these channels"),
        }),
      )
      .default([])
      .describe("headers that the proxy adds to requests, so that the sandbox never sees their value"),
    registries: registryMirrorsSchema,
    connections: count(1, 1000).default(64).describe("connections of one thread at once"),
    mbPerDay: count(1, 1_048_576)
      .default(2048)
      .describe(
        "what a thread may transfer in a day (UTC), both ways, through all workers together; nothing is transferred while it cannot be counted",
      ),
  })
  .prefault({});

export const workspacesSchema = z
  .strictObject({
    idleDays: count(1, 3650).default(30).describe("a workspace unused for this long is archived"),
    archiveDays: count(1, 3650).default(365).describe("an archive this old is removed"),
    store: z
      .string()
      .min(1)
      .exactOptional()
      .describe("a folder that all workers share; with it a thread's workspace moves between them"),
  })
  .prefault({});
