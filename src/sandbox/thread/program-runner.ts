import type { Egress } from "../egress/egress.ts";
import type { EgressPolicy } from "../egress/policy.ts";
import { otherAddresses, plainAddress } from "../egress/repository.ts";
import type { ProgramKind, ProgramOrigin } from "../running/registry.ts";
import type { KillReport } from "../sandbox.ts";
import type { DiskFloor } from "./disk-floor.ts";
import { type DiskRoom, watchDisk } from "./disk.ts";
import type { Host, ThreadFolder } from "./host.ts";
import { buildProxyVariables, type ThreadNetwork } from "./network.ts";
import type { Ending, Launched, Spawner, SpawnRequest } from "./spawner.ts";
import { showFiles } from "./shown-files.ts";
import type { ToolChains } from "./tool-chains.ts";

/** How bash reports a child that SIGXFSZ (25) killed for growing a file beyond its limit. */
const fileLimitExitCode = 128 + 25;
/** How long a thread's network stays when nothing runs in it, in milliseconds. */
const idleNetworkMs = 30_000;

/** Runs the programs of one thread, watches its disk and keeps the network that they share. */
export interface ProgramRunner {
  /** Whether the thread has a way out. */
  readonly hasEgress: boolean;
  /** Starts a program that may write as much as the disk allows. */
  start(
    request: Omit<SpawnRequest, "fileBytes" | "origin"> & {
      /** In a network of its own, with nothing in it. */
      isAlone?: boolean;
    },
    origin: ProgramOrigin,
  ): Launched;
  /** Whether the thread may have so much more, as of now. */
  hasRoom(room: DiskRoom): Promise<boolean>;
  /** Opens the shared network. Undefined when it is open: nobody has to wait then. */
  openNetwork(): Promise<unknown> | undefined;
  /** Whether commands share a network that is the thread's alone, and open now. */
  hasNetwork(): boolean;
  isBusy(): boolean;
  /** Whether something runs that goes on with its work: more than a look at the files, as somebody at the console takes. */
  isWorking(): boolean;
  /** Stops looking at the disk unless something runs. False when something does. */
  quiesce(): Promise<boolean>;
  /** Whether something may have written since this was asked before. */
  takeTouched(): boolean;
  /** How often everything was killed: a stop in the meantime counts for what was about to start. */
  kills(): number;
  killAll(): Promise<KillReport>;
  close(): Promise<KillReport>;
}

export function createProgramRunner(options: {
  host: Host;
  spawner: Spawner;
  floor: DiskFloor;
  egress: Egress;
  threadId: string;
  folder: ThreadFolder;
  network: ThreadNetwork;
  /** bwrap arguments for what the operator shows to every sandbox, as of now. */
  shown(): readonly string[];
  toolChains?: ToolChains;
}): ProgramRunner {
  const { host, spawner, egress, threadId, folder, network, shown, toolChains } = options;
  const running = new Map<Launched, ProgramKind>();
  const disk = watchDisk(options, threadId, folder);
  const policy = egress.policyOf(threadId);
  const wayOut = policy
    ? [
        ...buildProxyVariables({ ...policy.variables, ...gitRewrites(policy) }),
        ...showFiles(host, policy.files ?? {}),
      ]
    : [];
  let idle: NodeJS.Timeout | undefined;
  let kills = 0;
  let touched = false;

  async function killAll(): Promise<KillReport> {
    kills += 1;
    const all = [...running];
    // A look at the files, also by somebody at the console, is no command to report.
    const prove = (isReported: boolean) =>
      spawner.proveDead(
        all.flatMap(([launched, kind]) => ((kind !== "files") === isReported ? [launched] : [])),
      );
    const [commands, files] = await Promise.all([prove(true), prove(false), disk.cancel()]);
    await network.close();
    return { ...commands, survivors: commands.survivors + files.survivors };
  }

  return {
    hasEgress: policy !== undefined,
    start({ isAlone = false, ...request }, origin) {
      // A thread whose disk is full can still read and delete.
      const full = disk.full();
      const joins = isAlone ? undefined : network.current();
      const started = spawner.launch(folder, {
        ...request,
        origin,
        view: [
          ...shown(),
          ...(toolChains?.viewOf(threadId) ?? []),
          ...(joins ? wayOut : []),
          ...(request.view ?? []),
        ],
        joins,
        fileBytes: full ? 0 : host.limits.fileBytes,
      });
      clearTimeout(idle);
      running.set(started, origin.kind);
      touched = true;
      const watch = disk.during(() => started.kill("disk"));
      const ended = started.ended.then(async (ending): Promise<Ending> => {
        running.delete(started);
        if (running.size === 0) idle = setTimeout(() => void network.close(), idleNetworkMs).unref();
        watch.stop();
        if (ending.end === "stopped") return ending; // Nothing of the thread may run now, not even a look.
        const look = disk.look();
        if (!full) return ending;
        await look; // What was deleted makes room for the next command.
        return ending.exitCode === fileLimitExitCode ? { end: "disk", exitCode: null } : ending;
      });
      return { ...started, ended };
    },
    hasRoom: disk.hasRoom,
    openNetwork() {
      if (network.current() !== undefined) return undefined;
      clearTimeout(idle); // It was to close an earlier one.
      return network.open();
    },
    hasNetwork: () => network.current() !== undefined,
    isBusy: () => running.size > 0,
    isWorking: () => [...running.values()].some((kind) => kind !== "files"),
    async quiesce() {
      if (running.size === 0) await disk.cancel();
      return running.size === 0;
    },
    takeTouched() {
      const before = touched;
      touched = false;
      return before;
    },
    kills: () => kills,
    killAll,
    close() {
      clearTimeout(idle);
      return killAll();
    },
  };
}

/** Lets git use hosts with a credential and repositories as they are usually named: the proxy takes plain http there. */
function gitRewrites({ credentials, repositories = [] }: EgressPolicy): Record<string, string> {
  const rewrites = [
    ...credentials.map(({ host }) => [`http://${host}/`, `https://${host}/`]),
    ...repositories.flatMap((each) => otherAddresses(each).map((other) => [plainAddress(each), other])),
  ].flatMap(([plain, other = ""], index) => [
    [`GIT_CONFIG_KEY_${index}`, `url.${plain}.insteadOf`],
    [`GIT_CONFIG_VALUE_${index}`, other],
  ]);
  return { ...Object.fromEntries(rewrites), GIT_CONFIG_COUNT: String(rewrites.length / 2) };
}
