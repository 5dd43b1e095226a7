/** Redis as operators run it: real servers on ports of the loopback interface, single, replicated or in a cluster. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { freePort } from "./free-port.ts";

const which = promisify(execFile)("sh", ["-c", "command -v redis-server || command -v valkey-server"]);
const binary = await which.then(
  ({ stdout }) => stdout.trim(),
  () => undefined,
);

export const hasRedisServer = binary !== undefined;
/** Why a test is skipped. */
export const noRedisServer = "neither valkey-server nor redis-server is on PATH";

export interface Server {
  port: number;
  /** A connection for the test; it has nothing of the program's patience. */
  client: Redis;
  kill(): Promise<void>;
  /** It takes connections and what they send, and answers nothing, until {@link Server.thaw}. */
  freeze(): void;
  thaw(): void;
}

/** Why a test of TLS is skipped, if it has to be. */
export const noTls = existsSync("/usr/bin/openssl") ? undefined : "openssl is not installed";

/** Servers of one test, in a folder of their own. */
export interface Servers {
  folder: string;
  /** The certificate of servers with TLS, which is its own authority. */
  caFile: string;
  /** Starts a server and waits until it answers. @param first further arguments, e.g. a file of settings */
  start(settings?: Record<string, string>, first?: string[]): Promise<Server>;
  /**
   * Three primaries that share the slots evenly; the first has a replica.
   *
   * @param silentMs after which a node is taken for dead
   */
  cluster(
    password?: string,
    silentMs?: number,
  ): Promise<{ servers: [Server, Server, Server]; replica: Server }>;
  /** A cluster of one node, which can refuse every key as a cluster does whose primaries are gone. */
  smallCluster(): Promise<{ url: string; lose(): Promise<void>; bringBack(): Promise<void> }>;
  /** A primary with a replica, and a sentinel that knows it as `house`. @param login their passwords */
  sentinel(login?: {
    primary: string;
    sentinel: string;
  }): Promise<{ primary: Server; replica: Server; sentinel: Server }>;
  stop(): Promise<void>;
}

/** @param options.tls all of them, and what they say to each other, with TLS and nothing else */
export async function redisServers({ tls = false } = {}): Promise<Servers> {
  const folder = await mkdtemp(join(tmpdir(), "heddle-redis-"));
  const started: { child: ChildProcess; client: Redis }[] = [];
  const [caFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  if (tls) await makeCertificate(caFile, keyFile);
  const encrypted = {
    ...{ "tls-cert-file": caFile, "tls-key-file": keyFile, "tls-ca-cert-file": caFile },
    ...{ "tls-auth-clients": "no", "tls-replication": "yes", "tls-cluster": "yes" },
  };

  const start: Servers["start"] = async (settings = {}, first = []) => {
    if (binary === undefined) throw new Error(noRedisServer);
    const port = Number(settings["port"] ?? (await freePort()));
    // Replicas would wait five seconds for others that want the same data.
    const quick = { "repl-diskless-sync-delay": "0" };
    const isPlain = first.length === 0;
    const all = {
      bind: "127.0.0.1",
      save: "",
      dir: folder,
      ...(isPlain && quick),
      ...settings,
      ...(tls ? { port: "0", "tls-port": String(port), ...encrypted } : { port: String(port) }),
    };
    const args = Object.entries(all).flatMap(([name, value]) => [`--${name}`, ...value.split(" ")]);
    const child = spawn(binary, [...first, ...args], { cwd: folder, stdio: "ignore" });
    const client = new Redis({
      port,
      ...(tls && { tls: { rejectUnauthorized: false } }),
      ...(settings["requirepass"] && { password: settings["requirepass"] }),
      retryStrategy: () => 20,
      maxRetriesPerRequest: 200,
    });
    client.on("error", () => undefined);
    started.push({ child, client });
    await client.ping();
    return {
      port,
      client,
      kill: () => kill(child),
      freeze: () => void child.kill("SIGSTOP"),
      thaw: () => void child.kill("SIGCONT"),
    };
  };

  return {
    folder,
    caFile,
    start,
    async cluster(password, silentMs = 500) {
      const node = async () => {
        const name = String(await freePort());
        const files = { "cluster-config-file": `nodes-${name}.conf` };
        const ports = { "cluster-port": String(await freePort()) };
        const secret = password ? { requirepass: password, masterauth: password } : {};
        const rules = { "cluster-enabled": "yes", "cluster-node-timeout": String(silentMs) };
        return start({ ...rules, ...files, ...ports, ...secret });
      };
      const servers = await Promise.all([node(), node(), node()]);
      const replica = await node();
      const all = [...servers, replica];
      const [first] = servers;
      for (const [index, { client }] of servers.entries()) {
        const range = [Math.ceil((index * 16_384) / 3), Math.ceil(((index + 1) * 16_384) / 3) - 1];
        await client.call("CLUSTER", "ADDSLOTSRANGE", ...range);
        await client.call("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
      }
      for (const { client } of all) {
        for (const other of all) {
          const busPort = await clusterPort(other);
          await client.call("CLUSTER", "MEET", "127.0.0.1", other.port, busPort);
        }
      }
      const says = async (client: Redis, ...words: [string, string]) => String(await client.call(...words));
      const primary = await says(first.client, "CLUSTER", "MYID");
      await until(async () => (await says(replica.client, "CLUSTER", "NODES")).includes(primary));
      await until(async () => (await replica.client.call("CLUSTER", "REPLICATE", primary)) === "OK");
      for (const { client } of all)
        await until(async () => (await says(client, "CLUSTER", "INFO")).includes("cluster_state:ok"));
      await until(async () => (await replica.client.info("replication")).includes("master_link_status:up"));
      for (const { client } of servers)
        await until(async () => / slave .* connected/.test(await says(client, "CLUSTER", "NODES")));
      return { servers, replica };
    },
    async smallCluster() {
      // Alone it would not know its own address.
      const address = { "cluster-port": String(await freePort()), "cluster-announce-ip": "127.0.0.1" };
      const { client, port } = await start({ "cluster-enabled": "yes", ...address });
      const becomes = (state: string) =>
        until(async () => String(await client.call("CLUSTER", "INFO")).includes(`cluster_state:${state}`));
      await client.call("CLUSTER", "ADDSLOTSRANGE", 0, 16_383);
      await becomes("ok");
      return {
        url: `redis+cluster://127.0.0.1:${port}`,
        async lose() {
          await client.call("CLUSTER", "DELSLOTS", 0);
          await becomes("fail");
        },
        async bringBack() {
          await client.call("CLUSTER", "ADDSLOTS", 0);
          await becomes("ok");
        },
      };
    },
    async sentinel(login) {
      const secret: Record<string, string> = login
        ? { requirepass: login.primary, masterauth: login.primary }
        : {};
      const primary = await start(secret);
      const replica = await start({ replicaof: `127.0.0.1 ${primary.port}`, ...secret });
      await until(async () => (await replica.client.info("replication")).includes("master_link_status:up"));
      const file = join(folder, "sentinel.conf");
      const rules = [
        `sentinel monitor house 127.0.0.1 ${primary.port} 1`,
        "sentinel down-after-milliseconds house 500",
        "sentinel failover-timeout house 3000",
        ...(login ? [`sentinel auth-pass house ${login.primary}`] : []),
      ];
      await writeFile(file, rules.join("\n"));
      const sentinel = await start(login ? { requirepass: login.sentinel } : {}, [file, "--sentinel"]);
      await until(async () =>
        /num-slaves,1/.test(String(await sentinel.client.call("SENTINEL", "MASTER", "house"))),
      );
      return { primary, replica, sentinel };
    },
    async stop() {
      for (const { client } of started) client.disconnect();
      await Promise.all(started.map(({ child }) => kill(child)));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Waits until the replica has all that was written so far: what it has not dies with its primary. */
export async function caughtUp(primary: Server, replica: Server): Promise<void> {
  const offset = async ({ client }: Server) =>
    /master_repl_offset:(\d+)/.exec(await client.info("replication"))?.[1] ?? "none";
  await until(async () => (await offset(primary)) === (await offset(replica)));
}

async function clusterPort({ client }: Server): Promise<string> {
  return (await client.config("GET", "cluster-port"))[1] ?? "";
}

async function makeCertificate(file: string, keyFile: string): Promise<void> {
  const request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const subject = ["-subj", "/CN=house", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "1"];
  await promisify(execFile)("openssl", [...request, ...subject, "-keyout", keyFile, "-out", file]);
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** Other processes tell of nothing, so they are asked, for ten seconds at most. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 400; tries += 1) {
    if (await isSo().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error("It did not become so within ten seconds.");
}
