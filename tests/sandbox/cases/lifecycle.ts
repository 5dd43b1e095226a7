import assert from "node:assert/strict";
import { processesWith } from "../../e2e/processes.ts";
import { type Case, firstOutput, output, uniqueSeconds } from "../two-threads.ts";

export const lifecycleCases: Case[] = [
  {
    name: "29. daemons do not outlive their command",
    async run({ sandbox }) {
      const seconds = uniqueSeconds();
      const command = `setsid sleep ${seconds} >/dev/null 2>&1 & (setsid sh -c 'sleep ${seconds} & exit' &) >/dev/null 2>&1; echo done`;
      assert.equal(await output(sandbox, command), "done");
      assert.deepEqual(processesWith(seconds), []);
    },
  },
  {
    name: "30. a daemon that holds the output open does not hold the call",
    async run({ sandbox }) {
      const seconds = uniqueSeconds();
      const { end, exitCode, stdout } = await sandbox.exec({
        command: `sleep ${seconds} & echo done`,
        timeoutMs: 20_000,
      });
      assert.deepEqual(
        { end, exitCode, stdout: stdout.toString() },
        { end: "exit", exitCode: 0, stdout: "done\n" },
      );
      assert.deepEqual(processesWith(seconds), []);
    },
  },
  {
    name: "31. killing everything inside reaches nothing outside",
    async run({ sandbox, other }) {
      const started = await other.start({ command: `sleep ${uniqueSeconds()}` });
      assert.ok(started.ok);
      await sandbox.exec({ command: "kill -9 -1; kill -9 1" });
      assert.equal(started.job.status().state, "running");
      assert.equal((await started.job.kill()).survivors, 0);
      assert.equal(await output(sandbox, "echo alive"), "alive");
    },
  },
  {
    name: "32. start-up files in the workspace are not run, by no call",
    async run({ sandbox }) {
      const names = [".bashrc", ".bash_profile", ".profile", ".bash_login", ".bash_logout"];
      for (const name of names)
        await sandbox.writeFile(name, Buffer.from(`touch /workspace/ran; echo ran\n`));
      assert.equal(await output(sandbox, "echo only this"), "only this");
      await sandbox.writeFile("a", Buffer.from("x"));
      await sandbox.readFile("a");
      const listed = await sandbox.listFiles();
      assert.ok(listed.ok && !listed.entries.some(({ path }) => path === "ran"));
    },
  },
  {
    name: "36. a stop ends commands and jobs with their daemons, counts them, and leaves none",
    async run({ sandbox }) {
      const seconds = uniqueSeconds();
      const command = `for i in 1 2 3 4 5 6; do setsid sleep ${seconds} & done; echo up; wait`;
      const started = await sandbox.start({ command });
      assert.ok(started.ok);
      await firstOutput(started.job);
      const up = Promise.withResolvers<void>();
      const result = sandbox.exec({ command, onOutput: () => up.resolve() });
      await up.promise;

      const { commands, processes, survivors } = await sandbox.killAll();

      assert.deepEqual({ commands, processes, survivors }, { commands: 2, processes: 14, survivors: 0 });
      assert.deepEqual(processesWith(seconds), []);
      assert.equal((await result).end, "stopped");
    },
  },
];
