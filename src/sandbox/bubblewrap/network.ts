import type { EgressProxy, WaysOut } from "../egress/egress.ts";
import type { ThreadFolder } from "../thread/host.ts";
import { proxyPort, type ThreadNetwork } from "../thread/network.ts";
import { shellCommand } from "../thread/shell.ts";
import type { Launched, Spawner } from "../thread/spawner.ts";

const socketInside = "/proxy.sock";

/** Arguments: port, socket, connections at once. Says so when the port answers. */
const relayScript = `
socat "TCP4-LISTEN:$1,bind=127.0.0.1,fork,reuseaddr,max-children=$3" "UNIX-CONNECT:$2" 2>/dev/null &
relay=$!
until (: <>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; do kill -0 $relay 2>/dev/null || exit 1; sleep 0.01; done
echo ready
wait
`;
const idleScript = "echo ready; exec sleep infinity";

export function createThreadNetwork(options: {
  spawner: Spawner;
  folder: ThreadFolder;
  threadId: string;
  egress: WaysOut;
  /** Where the proxy's socket may be made. */
  socketFolder: string;
  log(line: string): void;
}): ThreadNetwork {
  const { spawner, folder, threadId, egress, socketFolder, log } = options;
  let opening: Promise<Launched | undefined> | undefined;
  let current: Launched | undefined;

  async function start(): Promise<Launched | undefined> {
    let proxy: EgressProxy | undefined;
    try {
      proxy = egress.policyOf(threadId) && (await egress.listen(threadId, socketFolder, folder.owner));
    } catch (error) {
      log(`the proxy of ${threadId} could not be started: ${String(error)}`);
    }
    const ready = Promise.withResolvers<boolean>();
    const launched = spawner.launch(folder, {
      program: proxy
        ? shellCommand(relayScript, [String(proxyPort), socketInside, String(proxy.maxConnections)])
        : shellCommand(idleScript),
      cwd: "/",
      network: "hold",
      origin: { kind: "network", text: "" },
      view: proxy ? ["--bind", proxy.socket, socketInside] : [],
      timeoutMs: Number.POSITIVE_INFINITY,
      floodBytes: 65_536,
      fileBytes: 0,
      onOutput: (stream) => stream === "stdout" && ready.resolve(true),
    });
    void launched.ended.then(async () => {
      ready.resolve(false);
      await proxy?.close();
    });
    const works = await ready.promise;
    // The relay has it; a name that nobody can use any more cannot be left behind.
    await proxy?.unlink();
    if (works) return launched;
    log(`the network of ${threadId} could not be opened; its commands cannot reach each other's ports`);
    return undefined;
  }

  /** It is the current one until it ends, or is to end: nothing must join it then. */
  async function keep(network: Promise<Launched | undefined>): Promise<void> {
    const held = await network;
    if (opening === network) current = held;
    await held?.ended;
    if (opening === network) current = opening = undefined;
  }

  return {
    current: () => current,
    open() {
      if (opening === undefined) void keep((opening = start()));
      return opening;
    },
    async close() {
      const network = opening;
      current = opening = undefined;
      const held = await network;
      held?.kill("stopped");
      await held?.ended;
    },
  };
}
