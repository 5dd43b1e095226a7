import assert from "node:assert/strict";
import { type Case, firstOutput, output, python, uniqueSeconds } from "../two-threads.ts";

export const threadCases: Case[] = [
  {
    name: "35. a running thread's shared memory, port, files and processes are not there for another",
    needs: ["/usr/bin/python3"],
    async run({ sandbox, other }) {
      const seconds = uniqueSeconds();
      const started = await sandbox.start({
        command: python(`
import ctypes, os, pathlib, socket, time
libc = ctypes.CDLL(None)
assert libc.shmget(4711, 4096, 0o1666) >= 0
pathlib.Path("/dev/shm/mine").write_text("x")
pathlib.Path("/tmp/mine").write_text("x")
listener = socket.create_server(("127.0.0.1", 4711))
abstract = socket.socket(socket.AF_UNIX); abstract.bind("\\0mine"); abstract.listen()
pathlib.Path("/workspace/ready").write_text("x")
print("ready", flush=True)
os.execvp("sleep", ["sleep", "${seconds}"])`),
      });
      assert.ok(started.ok);
      const { job } = started;
      try {
        assert.match(await firstOutput(job), /ready/);
        const seen = await output(
          other,
          python(`
import ctypes, os, socket
print("shm", ctypes.CDLL(None).shmget(4711, 4096, 0))
print("files", os.path.exists("/dev/shm/mine"), os.path.exists("/tmp/mine"), os.path.exists("/workspace/ready"))
for name, family, address in (("port", socket.AF_INET, ("127.0.0.1", 4711)), ("abstract", socket.AF_UNIX, "\\0mine")):
    print(name, socket.socket(family).connect_ex(address) == 0)
found = [p for p in os.listdir("/proc") if p.isdigit() and "${seconds}" in open("/proc/" + p + "/cmdline").read()]
print("processes", len(found))`).replaceAll(seconds, `${seconds.slice(0, 5)}" + "${seconds.slice(5)}`),
        );
        assert.equal(seen, "shm -1\nfiles False False False\nport False\nabstract False\nprocesses 0");
      } finally {
        assert.equal((await job.kill()).survivors, 0);
      }
    },
  },
  {
    name: "37. the output of a command, handed to a job, is not that of another thread's command later",
    needs: ["/usr/bin/python3"],
    async run({ sandbox, other }) {
      const started = await sandbox.start({
        command: python(`
import os, socket
listener = socket.socket(socket.AF_UNIX); listener.bind("handed"); listener.listen()
print("ready", flush=True)
connection, _ = listener.accept()
_, handed, _, _ = socket.recv_fds(connection, 1, 2)
kept = [os.open("/proc/self/fd/%d" % fd, os.O_PATH) for fd in handed]
for fd in handed: os.close(fd)
connection.close()
while True:
    for fd in kept:
        try:
            writer = os.open("/proc/self/fd/%d" % fd, os.O_WRONLY | os.O_NONBLOCK)
            try: os.write(writer, b"from another thread\\n")
            finally: os.close(writer)
        except OSError: pass`),
      });
      assert.ok(started.ok);
      const { job } = started;
      try {
        assert.match(await firstOutput(job), /ready/);
        const hand = `
import socket
connection = socket.socket(socket.AF_UNIX); connection.connect("handed")
socket.send_fds(connection, [b"x"], [1, 2]); connection.recv(1)`;
        await sandbox.exec({ command: python(hand) });
        for (let command = 0; command < 3; command += 1) {
          assert.equal(await output(other, "echo mine"), "mine");
        }
      } finally {
        assert.equal((await job.kill()).survivors, 0);
      }
    },
  },
];
