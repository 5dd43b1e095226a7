import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Case, output, secret } from "../two-threads.ts";

export const secretCases: Case[] = [
  {
    name: "1. no process inside shows a variable of the bot",
    async run({ sandbox }) {
      const seen = await output(sandbox, "cat /proc/*/environ 2>&1 | tr '\\0' '\\n'; env");
      assert.ok(seen.includes("HOME=/workspace"));
      assert.ok(!seen.includes(secret));
      assert.ok(!seen.includes("HEDDLE"));
    },
  },
  {
    name: "1a. nothing of what starts a command is left in its shell, and no text of a command is an option",
    async run({ sandbox }) {
      const command = 'echo "$0 $# $LINENO"; pwd; umask; ulimit -u; nope';
      const { stdout, stderr } = await sandbox.exec({ command });
      assert.match(stdout.toString(), /^bash 0 1\n\/workspace\n0022\n[1-9]\d*\n$/);
      assert.match(stderr.toString(), /^bash: line 1: nope: command not found/);
      const { exitCode } = await sandbox.exec({ command: "-v" });
      assert.equal(exitCode, 127);
    },
  },
  {
    name: "2. files of the host are not there, and /etc/passwd is the sandbox's own",
    async run({ sandbox, dataDir }) {
      const file = join(dataDir, "secret.txt");
      await writeFile(file, secret);
      const seen = await output(sandbox, `cat /etc/shadow; ls /root; ls /home; cat ${file}; cat /etc/passwd`);
      assert.equal(seen.match(/No such file or directory/g)?.length, 4);
      assert.ok(seen.includes("agent:x:1000:1000"));
      assert.ok(!seen.includes("root:x:0"));
    },
  },
  {
    name: "3. another thread's folder does not exist under its path on the host",
    async run({ sandbox, other, otherFolder }) {
      await other.writeFile("secret.txt", Buffer.from(secret));
      const seen = await output(sandbox, `cat ${otherFolder}/ws/secret.txt; ls ${otherFolder}`);
      assert.equal(seen.match(/No such file or directory/g)?.length, 2);
    },
  },
  {
    name: "4. a link in the workspace to another thread leads nowhere, for commands and for file tools",
    async run({ sandbox, other, otherFolder }) {
      await other.writeFile("secret.txt", Buffer.from(secret));
      await sandbox.exec({
        command: `ln -sfn ${otherFolder}/ws folder; ln -sfn ${otherFolder}/ws/secret.txt file`,
      });
      assert.match(await output(sandbox, "cat folder/secret.txt"), /No such file or directory/);
      for (const path of ["folder/secret.txt", "file"]) {
        const read = await sandbox.readFile(path);
        assert.equal(read.ok ? "ok" : read.reason, "not-found");
        const written = await sandbox.writeFile(path, Buffer.from("overwritten"));
        assert.equal(written.ok, false);
      }
      const listed = await sandbox.listFiles("folder");
      assert.equal(listed.ok ? "ok" : listed.reason, "not-found");
      const kept = await other.readFile("secret.txt");
      assert.equal(kept.ok && kept.data.toString(), secret);
    },
  },
  {
    name: "5. /proc shows the sandbox's own processes only, and their root is the sandbox's",
    async run({ sandbox }) {
      const pids = await output(sandbox, "cd /proc; echo [0-9]*");
      assert.ok(
        pids.split(" ").every((pid) => Number(pid) < 20),
        pids,
      );
      assert.match(await output(sandbox, "cat /proc/1/root/etc/shadow"), /No such file|Permission denied/);
    },
  },
  {
    name: "6. no descriptor of the bot is open inside",
    async run({ sandbox }) {
      const seen = await output(sandbox, "ls -l /proc/self/fd | awk 'NR > 1 { print $9 }' | tr '\\n' ' '");
      assert.equal(seen, "0 1 2 3"); // 3 is the listing's own.
    },
  },
];
