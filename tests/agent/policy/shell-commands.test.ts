import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { createPolicy } from "../../../src/agent/policy/policy.ts";
import { listCommands } from "../../../src/agent/policy/shell-commands.ts";

const splitCommands = (script: string) => listCommands(script).commands.map(({ text }) => text);

/** Ways to write something that runs the command `c`, as a whole script. */
const around: Record<string, (c: string) => string> = {
  "in a sequence": (c) => `cd x; ${c}`,
  "after success": (c) => `make && ${c}`,
  "after failure": (c) => `make || ${c}`,
  "in a pipe": (c) => `yes | ${c} | tail`,
  "in the background": (c) => `${c} & wait`,
  "on a line of its own": (c) => `make\n${c}\nls`,
  "in a subshell": (c) => `(cd x; ${c})`,
  "in a group": (c) => `{ ${c}; }`,
  "in a condition": (c) => `if ${c}; then ls; else pwd; fi`,
  "in a branch": (c) => `if true; then ${c}; fi`,
  "in a loop": (c) => `for f in *; do ${c}; done`,
  "in a case": (c) => `case $x in a) ${c};; esac`,
  "in a function": (c) => `f() { ${c}; }; f`,
  "in a function by its keyword": (c) => `function f { ${c}; }; f`,
  "in a coprocess with a name": (c) => `coproc worker { ${c}; }`,
  "behind time's option": (c) => `time -p ${c}`,
  "behind an element of an array": (c) => `A[1]=2 ${c}`,
  "given to a trap": (c) => `trap -- '${c}' EXIT`,
  "given to a shell behind dashes": (c) => `bash -c -- '${c}'`,
  negated: (c) => `! ${c}`,
  substituted: (c) => `echo $(${c})`,
  "substituted in quotes": (c) => `echo "it's $(${c}) here"`,
  "in a subshell of a substitution in quotes": (c) => `echo "$( (cd x) ; ${c} )"`,
  "in backticks": (c) => `echo \`${c}\``,
  "in a process substitution": (c) => `diff <(${c}) b`,
  "as a value": (c) => `A=$(${c}) ls`,
  "with variables": (c) => `A=1 B="two words" ${c}`,
  redirected: (c) => `${c} >out 2>&1 </dev/null`,
  "with a redirection before it": (c) => `2>err >>out ${c}`,
  "after a comment": (c) => `# don't worry\n${c}`,
  "after a word with a hash": (c) => `echo a#b; ${c}`,
  "after quotes": (c) => `echo 'a "b' "c 'd" e\\"f; ${c}`,
  "after an ANSI quote": (c) => `echo $'don\\'t'; ${c}`,
  "after a here-document": (c) => `cat <<EOF\ndon't\nEOF\n${c}\necho 'x'`,
  "in a here-document of a shell": (c) => `bash <<EOF\n${c}\nEOF`,
  "given to a shell": (c) => `bash -ec '${c}'`,
  "given to a shell behind another option": (c) => `bash -c -e '${c}'`,
  "given to su": (c) => `su -c 'ls; ${c}' root`,
  "given to watch": (c) => `watch -n 1 'ls; ${c}'`,
  "given to eval": (c) => `eval '${c}'`,
  "behind sudo": (c) => `sudo -u root ${c}`,
  "behind env": (c) => `env -i PATH=/bin ${c}`,
  "behind timeout": (c) => `timeout 5 ${c}`,
  "behind xargs": (c) => `ls | xargs -n 1 ${c}`,
  "behind many conditions of find": (c) =>
    `find . \\( ${"-name '*.o' -o ".repeat(40)}-name x \\) -exec ${c} ';'`,
  "behind find": (c) => `find . -name x -exec ${c} ';'`,
  "in a here-string of a shell": (c) => `bash -s <<< '${c}'`,
  "behind a pipe into a shell": (c) => `echo '${c}' | /bin/sh -e | cat`,
  "behind a pipe into a shell with arguments": (c) => `echo '${c}' | bash -es now`,
  "behind a pipe into the file of a shell": (c) => `echo '${c}' | bash /dev/stdin`,
  "in a process substitution for a shell": (c) => `bash <(echo '${c}')`,
  "in a here-string that is sourced": (c) => `. /dev/stdin <<< '${c}'`,
  "given to an alias": (c) => `shopt -s expand_aliases\nalias g='${c}'\ng`,
  "over two lines": (c) => `true && \\\n${c}`,
};
const ways = Object.values(around);

/** Pieces of scripts; `zap` is what must not run. */
const pieces = [
  ..."zap now|zap|now|za|p|not|true|false|ls| | | |\n|;|&&|&|(|)|{ | ;}|$(|`|'|\"|$'|\\|$((|))|[[ | ]]|#|!|?|[|]".split(
    "|",
  ),
  ...[
    "||",
    "|",
    "<<E\n",
    "\nE\n",
    "<<'E'\n",
    "<<<",
    " <",
    ">x",
    "2>&1",
    "\r",
    "\t",
    "\\\n",
    "*",
    "=",
    "A=",
    "A=1 ",
  ],
  ...["bash -c ", "sh", "eval ", "env ", "exec ", "command ", "trap ", " EXIT", "xargs ", "echo ", "coproc "],
  ...[
    "if ",
    "then ",
    "fi",
    "while ",
    "do ",
    "done",
    "case ",
    "esac",
    " in ",
    "x)",
    "for i in ",
    "function f",
    "f()",
  ],
];

test("What a real shell runs is never allowed where a rule denies it, nor where none allows it", () => {
  const folder = mkdtempSync(join(tmpdir(), "heddle-shell-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const bin = join(folder, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "zap"), `#!/bin/sh\n[ "$1" = now ] && touch "${folder}/ran"\n`, { mode: 0o755 });
  const bash = { name: "bash", effect: "write" } as const;
  const denies = createPolicy([{ tool: "bash", command: "zap now*", action: "deny" }], "allow");
  const harmless = [
    "ls*",
    "true*",
    "false*",
    "echo*",
    "not*",
    "now*",
    "za",
    "p*",
    "x*",
    "f*",
    "E*",
    "i*",
    "sh",
    "bash",
  ];
  const allows = createPolicy(
    harmless.map((command) => ({ tool: "bash", command, action: "allow" })),
    "deny",
  );
  const piece = fc.constantFrom(...pieces);
  const parts = fc.tuple(fc.array(piece, { maxLength: 6 }), fc.array(piece, { maxLength: 6 }));
  fc.assert(
    fc.property(parts, ([before, after]) => {
      const command = `${before.join("")}zap now${after.join("")}`;
      if (![denies, allows].some((policy) => policy(bash, { command }).action === "allow")) return;
      const env = { PATH: `${bin}:/usr/bin:/bin` };
      rmSync(join(folder, "ran"), { force: true });
      spawnSync("bash", ["-c", command], { cwd: folder, env, input: "", timeout: 2_000 });
      expect(existsSync(join(folder, "ran"))).toBe(false);
    }),
    // Most are judged without the shell. Always the same ones: what only some runs find, others would not.
    { numRuns: 120, seed: 1 },
  );
});

describe("A command", () => {
  test.each(Object.entries(around))("is found %s", (_name, wrap) => {
    const found = splitCommands(wrap("git push"));
    expect(found.some((command) => command.startsWith("git push"))).toBe(true);
  });

  test("is found however often it is wrapped", () => {
    const wraps = fc.array(fc.constantFrom(...ways), { maxLength: 4 });
    fc.assert(
      fc.property(wraps, (list) => {
        // What is given to a shell or stands in backticks is quoted once more, as a person would.
        const script = list.reduce((inner, wrap) => {
          const shape = wrap("C");
          if (/'[^']*C'/.test(shape)) return wrap(inner.replaceAll("'", `'\\''`));
          return wrap(shape.includes("`C`") ? inner.replaceAll(/[\\`]/g, "\\$&") : inner);
        }, "git push");
        expect(splitCommands(script).some((command) => command.startsWith("git push"))).toBe(true);
      }),
    );
  });

  test("is found behind any number of evals", () => {
    for (let count = 1; count <= 300; count += 1)
      expect(splitCommands(`${"eval ".repeat(count)}git push`), `${count}`).toContain("git push");
  });

  test.each([
    "echo `find . \\\\( -name '*.o' -o -name x \\\\) -exec git push ';'`",
    "echo `sudo -u 'root' -g staff git push \\\\x`",
  ])("is found behind an option where quotes leave open where commands begin: %s", (script) => {
    expect(splitCommands(script)).toContainEqual(expect.stringMatching(/^git push/));
  });

  test("behind more wrappers than are looked through is not told, behind many words of one is", () => {
    const words = Array.from({ length: 60 }, (_, n) => `word${n}`).join(" ");
    for (const count of [25, 26, 100, 1_000])
      expect(listCommands(`${"nice ".repeat(count)}git push --force`).isTold, `${count}`).toBe(false);
    expect(listCommands(`timeout 60 npm test -- ${words}`)).toMatchObject({ isTold: true });
    expect(listCommands(`sudo -u root tar xf ${words}`)).toMatchObject({ isTold: true });
  });

  test("is found although its text has been seen as one word", () => {
    expect(splitCommands("ls | xargs echo 'sudo git push' | sh")).toContain("git push");
  });

  test.each([
    [`git  "push"   or'ig'in`, "git push origin"],
    [`g\\it pu""sh`, "git push"],
    ["/usr/bin/git push", "git push"],
    [String.raw`$'\x67\151t' $'\u0070ush'`, "git push"],
    ["eval -- git push", "git push"],
    ["$nothing g$(true)it push", "git push"],
    ["A=1 git push", "git push"],
    ["time git push", "git push"],
  ])("is read without its disguise: %s", (script, command) => {
    expect(splitCommands(script)).toContain(command);
  });

  test.each([
    [`git commit -m "fix; git push | later"`, ["git commit -m fix; git push | later"]],
    [`grep -E 'a|b' x.txt`, ["grep -E a|b x.txt"]],
    [`awk '{ print; }' f > out 2>&1`, ["awk { print; } f"]],
    ["echo hi # git push", ["echo hi"]],
    ["A=1", []],
    ["cd $there", ["cd $there"]],
    ["# nothing", []],
  ])("is nothing that only stands in quotes or in a comment: %s", (script, commands) => {
    expect(splitCommands(script)).toEqual(commands);
  });

  test("of any text at all is read in bounded time and without an error", () => {
    const parts = fc.constantFrom(
      "$(",
      "`",
      '"',
      "'",
      "\\",
      ")",
      "(",
      ";",
      "<<EOF\n",
      "sudo ",
      "eval ",
      "git",
      " ",
    );
    const texts = fc.oneof(
      fc.string(),
      fc.array(parts, { maxLength: 60 }).map((p) => p.join("")),
    );
    fc.assert(fc.property(texts, (text) => Array.isArray(splitCommands(text))));
    for (const piece of [
      "$(",
      '"$(',
      "sudo x ",
      "eval ",
      "`",
      "(",
      "a;",
      "bash -c '",
      "sh -x ",
      "alias a=`",
      "<<<",
    ])
      expect(splitCommands(piece.repeat(2_000)).length).toBeLessThan(100);
    expect(splitCommands(`echo '${"1".repeat(400_000)}`).length).toBeLessThan(100);
  });
});
