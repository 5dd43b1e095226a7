import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { type Case, firstOutput, output, python } from "../two-threads.ts";

/** Listens while `use` runs and returns how many connections came. */
async function connectionsWhile(
  where: { port: 0; host: string } | { path: string },
  use: (port: number) => Promise<void>,
): Promise<number> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(where);
  await once(server, "listening");
  try {
    const address = server.address();
    await use(typeof address === "object" && address !== null ? address.port : 0);
  } finally {
    server.close();
  }
  return connections;
}

export const networkCases: Case[] = [
  {
    name: "7. a service on the host's loopback is out of reach",
    async run({ sandbox }) {
      const connections = await connectionsWhile({ port: 0, host: "127.0.0.1" }, async (port) => {
        assert.match(await output(sandbox, `echo x >/dev/tcp/127.0.0.1/${port}`), /Connection refused/);
      });
      assert.equal(connections, 0);
    },
  },
  {
    name: "8. an abstract socket of the host is out of reach",
    needs: ["/usr/bin/python3"],
    async run({ sandbox }) {
      const name = `heddle-test-${process.pid}`;
      const connections = await connectionsWhile({ path: `\0${name}` }, async () => {
        const program = `import socket\nsocket.socket(socket.AF_UNIX).connect("\\0${name}")`;
        assert.match(await output(sandbox, python(program)), /Connection refused/);
      });
      assert.equal(connections, 0);
    },
  },
  {
    name: "9. a socket file of the host does not exist",
    needs: ["/usr/bin/python3"],
    async run({ sandbox, dataDir }) {
      const path = join(dataDir, "test.sock");
      await connectionsWhile({ path }, async () => {
        const program = `import socket\nsocket.socket(socket.AF_UNIX).connect("${path}")`;
        assert.match(await output(sandbox, python(program)), /No such file or directory/);
      });
    },
  },
  {
    name: "10. no name resolves and no address is reachable",
    needs: ["/usr/bin/python3"],
    async run({ sandbox }) {
      const program = `
import socket
for attempt in (lambda: socket.getaddrinfo("example.com", 80),
                lambda: socket.create_connection(("192.0.2.1", 80), 2),
                lambda: socket.create_connection(("169.254.169.254", 80), 2)):
    try:
        attempt(); print("reached")
    except OSError as error:
        print(error)`;
      const seen = await output(sandbox, python(program));
      assert.equal(seen.split("\n").length, 3, seen);
      assert.ok(!seen.includes("reached"), seen);
      assert.match(seen, /Network is unreachable/);
    },
  },
  {
    name: "11. vsock, packet, raw and netfilter sockets are refused, and ordinary ones are not",
    needs: ["/usr/bin/python3"],
    async run({ sandbox }) {
      const program = `
import socket
for name, family, kind, protocol in (("vsock", 40, 1, 0), ("packet", 17, 3, 0), ("netfilter", 16, 3, 12),
        ("raw", 2, 3, 1), ("bluetooth", 31, 3, 1), ("alg", 38, 5, 0),
        ("tcp", 2, 1, 0), ("tcp6", 10, 1, 0), ("unix", 1, 1, 0), ("route", 16, 3, 0)):
    try:
        socket.socket(family, kind, protocol); print(name, "open")
    except OSError as error:
        print(name, "refused")`;
      const seen = (await output(sandbox, python(program))).split("\n");
      assert.deepEqual(
        seen.filter((line) => line.endsWith("refused")).map((line) => line.split(" ")[0]),
        ["vsock", "packet", "netfilter", "raw", "bluetooth", "alg"],
      );
      assert.equal(seen.length, 10);
    },
  },
  {
    name: "11b. a server in the background is reached by the next command of its thread, and by no other thread",
    needs: ["/usr/bin/python3"],
    async run({ sandbox, other }) {
      const server = `
import socket
server = socket.create_server(("127.0.0.1", 4712))
print("up", flush=True)
while True:
    connection, _ = server.accept()
    connection.sendall(b"hello")
    connection.close()`;
      const started = await sandbox.start({ command: python(server) });
      const neighbour = await other.start({ command: "sleep 60" });
      assert.ok(started.ok && neighbour.ok);
      try {
        assert.equal(await firstOutput(started.job), "up\n");
        const ask = "cat </dev/tcp/127.0.0.1/4712";
        assert.equal(await output(sandbox, ask), "hello");
        assert.match(await output(other, ask), /Connection refused/);
        assert.match(await output(sandbox, "echo >/dev/tcp/192.0.2.1/80"), /Network is unreachable/);
      } finally {
        const { commands, survivors } = await sandbox.killAll();
        assert.deepEqual({ commands, survivors }, { commands: 1, survivors: 0 });
        await other.killAll();
      }
    },
  },
  {
    name: "11c. what joins the thread's network has no more rights there than without it",
    needs: ["/usr/bin/python3"],
    async run({ sandbox }) {
      const started = await sandbox.start({ command: "sleep 60" });
      assert.ok(started.ok);
      try {
        const program = `
import os, socket
print([line.split()[1] for line in open("/proc/self/status") if line.startswith(("CapEff", "NoNewPrivs", "Seccomp:"))])
try:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print("raw")
except OSError:
    print("refused")
try:
    open("/proc/sys/net/ipv4/ip_forward", "w"); print("writable")
except OSError:
    print("read-only")`;
        const seen = await output(sandbox, python(program));
        assert.equal(seen, "['0000000000000000', '1', '2']\nrefused\nread-only");
      } finally {
        await sandbox.killAll();
      }
    },
  },
];
