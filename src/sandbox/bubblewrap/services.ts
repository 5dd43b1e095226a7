import { join } from "node:path";
import type { Egress, WaysOut } from "../egress/egress.ts";
import { workspaceRoot } from "../sandbox.ts";
import type { Service, ServiceEnd, ServiceRequest, ServiceStart } from "../service.ts";
import type { ServiceRunner } from "../thread/driver.ts";
import type { DiskFloor } from "../thread/disk-floor.ts";
import { watchDisk } from "../thread/disk.ts";
import { type Host, makeFolder, type ThreadFolder } from "../thread/host.ts";
import { buildProxyVariables, type ThreadNetwork } from "../thread/network.ts";
import type { Ending, Spawner } from "../thread/spawner.ts";
import { type ClosedPaths, findObstacle } from "./service-access.ts";

/** Hosts that are kept for whoever looks why a service does not work. */
const keptHosts = 10;
/** Names are looked up and certificates checked with these on the machine's own network. */
const resolverFiles = ["/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/hosts", "/etc/gai.conf"];
/** An idle service must not cost a look at its files every second, as a command does. */
const pace = { everyMs: 10_000, freshMs: 600_000 };

export interface ServiceDeps {
  host: Host;
  spawner: Spawner;
  floor: DiskFloor;
  egress: Egress;
  networkOf(id: string, folder: ThreadFolder, ways: WaysOut): ThreadNetwork;
  closed: ClosedPaths;
}

/** Runs services, each in a bubblewrap with a home and a network of its own, for as long as this process lives. */
export function createServices(deps: ServiceDeps): ServiceRunner {
  const running = new Set<Service>();

  async function serve(request: ServiceRequest): Promise<ServiceStart> {
    const { host } = deps;
    const homes = join(host.root, "services");
    makeFolder(homes, 0o711);
    const folder = host.folderOf(request.name, join(homes, host.keyOf(request.name)));
    const obstacle = findObstacle(request, deps.closed, folder.owner);
    if (obstacle) return { ok: false, reason: "refused", problem: obstacle };
    const started = await startService(deps, folder, request);
    if (!started.ok) return started;
    running.add(started.service);
    void started.service.ended.then(() => running.delete(started.service));
    return started;
  }

  return {
    serve,
    async close() {
      await Promise.all([...running].map((service) => service.kill()));
    },
  };
}

async function startService(
  deps: ServiceDeps,
  folder: ThreadFolder,
  request: ServiceRequest,
): Promise<ServiceStart> {
  const { host, spawner, egress, networkOf } = deps;
  const { access, name } = request;
  const refused = new Set<string>();
  const hosts = access.network === "host" ? undefined : access.network;
  // Also for one that may reach nothing: so it is known what it asks for.
  const ways = egress.only(hosts ?? [], (asked) => refused.size < keptHosts && refused.add(asked));
  const network = hosts && networkOf(name, folder, ways);
  const joins = await network?.open();
  if (hosts && hosts.length > 0 && !joins) {
    return {
      ok: false,
      reason: "refused",
      problem: "its network could not be opened; socat must be installed",
    };
  }
  const isProxied = joins !== undefined && ways.policyOf(name) !== undefined;
  const launched = spawner.launch(folder, {
    program: [request.command, ...request.args],
    cwd: request.cwd ?? workspaceRoot,
    stdin: "open",
    environment: request.env,
    origin: { kind: "service", text: name },
    view: [
      ...viewOf(request),
      ...(isProxied ? buildProxyVariables({}) : []),
      ...(hosts ? [] : resolverFiles.flatMap((file) => ["--ro-bind-try", file, file])),
    ],
    ...(hosts ? { joins } : { network: "host" }),
    timeoutMs: Number.POSITIVE_INFINITY,
    floodBytes: Number.POSITIVE_INFINITY,
    fileBytes: host.limits.fileBytes,
    onOutput: request.onOutput,
  });
  const disk = watchDisk(deps, name, folder, pace);
  const watch = disk.during(() => launched.kill("disk"));
  const ended = launched.ended.then(async (ending) => {
    watch.stop();
    await disk.cancel();
    await network?.close();
    return describeEnd(ending);
  });
  const service: Service = {
    write: (chunk) => launched.input?.write(chunk) ?? Promise.reject(new Error("It has not started.")),
    closeInput: () => launched.input?.close(),
    ended,
    refusedHosts: () => [...refused],
    async kill() {
      launched.kill("stopped");
      await ended;
    },
  };
  return { ok: true, service };
}

/** Parents first, so that a folder does not hide one in it that was mounted before. */
function viewOf({ access: { read, write } }: ServiceRequest): string[] {
  return [
    ...read.map((path) => ({ path, option: "--ro-bind" })),
    ...write.map((path) => ({ path, option: "--bind" })),
  ]
    .toSorted((one, other) => (one.path < other.path ? -1 : 1))
    .flatMap(({ path, option }) => [option, path, path]);
}

function describeEnd({ end, exitCode, problem }: Ending): ServiceEnd {
  switch (end) {
    case "exit":
      return { exitCode };
    case "memory":
      return { exitCode: null, problem: "it used up its memory (sandbox.memoryMb)" };
    case "processes":
      return { exitCode: null, problem: "it had too many processes (sandbox.processes)" };
    case "disk":
      return {
        exitCode: null,
        problem: "its folder or the disk is full (sandbox.workspaceMb, sandbox.freeMb)",
      };
    case "stopped":
    case "timeout":
    case "output":
      return { exitCode: null, problem: "it was ended" };
    case "failed":
      return { exitCode: null, problem: problem?.replace(/\.$/, "") ?? "its sandbox failed" };
  }
}
