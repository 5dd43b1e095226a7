import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { simpleCommands } from "../../src/agent/shell-commands.ts";

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
  "given to eval": (c) => `eval '${c}'`,
  "behind sudo": (c) => `sudo -u root ${c}`,
  "behind env": (c) => `env -i PATH=/bin ${c}`,
  "behind timeout": (c) => `timeout 5 ${c}`,
  "behind xargs": (c) => `ls | xargs -n 1 ${c}`,
  "behind find": (c) => `find . -name x -exec ${c} ';'`,
  "over two lines": (c) => `true && \\\n${c}`,
};
const ways = Object.values(around);

describe("A command", () => {
  test.each(Object.entries(around))("is found %s", (_name, wrap) => {
    const found = simpleCommands(wrap("git push"));
    expect(found.some((command) => command.startsWith("git push"))).toBe(true);
  });

  test("is found however often it is wrapped", () => {
    const wraps = fc.array(fc.constantFrom(...ways), { maxLength: 4 });
    fc.assert(
      fc.property(wraps, (list) => {
        // What is given to a shell or stands in backticks is quoted once more, as a person would.
        const script = list.reduce((inner, wrap) => {
          const wrapped = wrap("C");
          if (wrapped.includes("'C'")) return wrap(inner.replaceAll("'", `'\\''`));
          return wrap(wrapped.includes("`C`") ? inner.replaceAll(/[\\`]/g, "\\$&") : inner);
        }, "git push");
        expect(simpleCommands(script).some((command) => command.startsWith("git push"))).toBe(true);
      }),
    );
  });

  test.each([
    [`git  "push"   or'ig'in`, "git push origin"],
    [`g\\it pu""sh`, "git push"],
    ["/usr/bin/git push", "git push"],
    ["A=1 git push", "git push"],
    ["time git push", "git push"],
  ])("is read without its disguise: %s", (script, command) => {
    expect(simpleCommands(script)).toContain(command);
  });

  test.each([
    [`git commit -m "fix; git push | later"`, ["git commit -m fix; git push | later"]],
    [`grep -E 'a|b' x.txt`, ["grep -E a|b x.txt"]],
    [`awk '{ print $1; }' f > out 2>&1`, ["awk { print $1; } f"]],
    ["echo hi # git push", ["echo hi"]],
    ["A=1", []],
    ["# nothing", []],
  ])("is nothing that only stands in quotes or in a comment: %s", (script, commands) => {
    expect(simpleCommands(script)).toEqual(commands);
  });

  test("of any text at all is read in bounded time and without an error", () => {
    const pieces = fc.constantFrom(
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
      fc.array(pieces, { maxLength: 60 }).map((p) => p.join("")),
    );
    fc.assert(fc.property(texts, (text) => Array.isArray(simpleCommands(text))));
    for (const piece of ["$(", '"$(', "sudo x ", "eval ", "`", "(", "a;", "bash -c '"])
      expect(simpleCommands(piece.repeat(2_000)).length).toBeLessThan(100);
    expect(simpleCommands(`echo '${"1".repeat(400_000)}`).length).toBeLessThan(100);
  });
});
