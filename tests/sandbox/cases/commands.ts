import assert from "node:assert/strict";
import { type Case, output, python } from "../two-threads.ts";

export const commandCases: Case[] = [
  {
    name: "33. quotes, substitutions and newlines of a command are the command's own",
    async run({ sandbox }) {
      assert.equal(
        await output(sandbox, `echo "a'b" '$(id)' "$(echo c)"\necho 'd\ne' \\"`),
        `a'b $(id) c\nd\ne "`,
      );
      assert.equal(await output(sandbox, `printf '%s|' "$0" "$#" '-- ; exit 7'`), "bash|0|-- ; exit 7|");
      assert.equal((await sandbox.exec({ command: "exit 7" })).exitCode, 7);
      assert.equal((await sandbox.exec({ command: "kill -TERM $$" })).exitCode, 143);
    },
  },
  {
    name: "33b. a command of 128 KiB or with NUL is refused with a sentence",
    async run({ sandbox }) {
      for (const command of [`echo ${"x".repeat(131_072)}`, "echo \0"]) {
        const { end, problem } = await sandbox.exec({ command });
        assert.equal(end, "failed");
        assert.match(problem ?? "", /command/);
      }
      assert.equal((await sandbox.exec({ command: `: ${"x".repeat(131_000)}` })).exitCode, 0);
    },
  },
  {
    name: "33c. /dev/stdout and /dev/stderr can be opened by name",
    async run({ sandbox }) {
      const { stdout, stderr } = await sandbox.exec({
        command: "echo a >/dev/stdout; echo b | tee /dev/stderr",
      });
      assert.deepEqual([stdout.toString(), stderr.toString()], ["a\nb\n", "b\n"]);
    },
  },
  {
    name: "33d. a folder that does not exist is said, and the command is not run elsewhere",
    async run({ sandbox }) {
      const { exitCode, stdout, stderr } = await sandbox.exec({ command: "echo ran", cwd: "missing" });
      assert.equal(exitCode, 1);
      assert.equal(stdout.length, 0);
      assert.match(stderr.toString(), /missing: No such file or directory/);
      assert.equal(await output(sandbox, "pwd"), "/workspace");
      const inTmp = await sandbox.exec({ command: "pwd", cwd: "/tmp" });
      assert.equal(inTmp.stdout.toString(), "/tmp\n");
    },
  },
  {
    name: "34a. git commits",
    needs: ["/usr/bin/git"],
    async run({ sandbox }) {
      const seen = await output(
        sandbox,
        "rm -rf g; git init -q g && cd g && echo 1 >a && git add a && git commit -qm first && git log --format=%s",
      );
      assert.match(seen, /first$/);
    },
  },
  {
    name: "34b. gcc compiles",
    needs: ["/usr/bin/gcc"],
    async run({ sandbox }) {
      const seen = await output(
        sandbox,
        `echo 'int main(void) { return 5; }' >a.c && gcc a.c -o a.out; ./a.out; echo $?`,
      );
      assert.equal(seen, "5");
    },
  },
  {
    name: "34c. node runs with WebAssembly, fetch and the sandbox's user",
    async run({ sandbox }) {
      const program = `new WebAssembly.Memory({ initial: 1 }); fetch; console.log(require("os").userInfo().username)`;
      assert.equal(await output(sandbox, `node -e '${program}'`), "agent");
    },
  },
  {
    name: "34d. npm runs",
    needs: ["/usr/bin/npm"],
    async run({ sandbox }) {
      assert.match(await output(sandbox, "npm init -y >/dev/null && npm pkg get name"), /"workspace"/);
    },
  },
  {
    name: "34e. python works with several processes",
    needs: ["/usr/bin/python3"],
    async run({ sandbox }) {
      const program = "import multiprocessing\nprint(multiprocessing.Pool(2).map(abs, [-1, -2]))";
      assert.equal(await output(sandbox, python(program)), "[1, 2]");
    },
  },
  {
    name: "34e2. python is python3 where the host has no other",
    needs: ["/usr/bin/python3"],
    async run({ sandbox }) {
      assert.equal(await output(sandbox, "python -c 'import sys; print(sys.version_info[0])'"), "3");
    },
  },
  {
    name: "34f. the Node that runs Heddle is there, runs TypeScript, and cannot be written",
    async run({ sandbox }) {
      assert.equal(await output(sandbox, "node --version"), process.version);
      const program = "const words: readonly string[] = ['typed']; console.log(...words);";
      await sandbox.writeFile("typed.ts", Buffer.from(program));
      assert.equal(await output(sandbox, "node typed.ts"), "typed");
      assert.equal(await output(sandbox, "PATH=$(dirname $(command -v node)); node typed.ts"), "typed");
      const refused = /(Permission denied|Read-only file system|Text file busy)/;
      for (const attempt of ['echo x >>"$NODE"', 'rm -f "$NODE"', 'chmod 777 "$NODE"', 'mv "$NODE" /tmp'])
        assert.match(await output(sandbox, `NODE=$(command -v node); ${attempt}`), refused);
      assert.equal(await output(sandbox, "node --version"), process.version);
    },
  },
];
