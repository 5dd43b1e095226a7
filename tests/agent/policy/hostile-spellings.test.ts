import { describe, expect, test } from "vitest";
import { createPolicy } from "../../../src/agent/policy/policy.ts";

const bash = { name: "bash", effect: "write" } as const;
const policy = createPolicy(
  [
    { tool: "bash", command: "git push --force*", action: "deny" },
    { tool: "bash", command: "git push*", action: "ask" },
  ],
  "allow",
);
const judge = (command: string) => policy(bash, { command }).action;

/** By hand, as somebody would write them who knows the rules and wants to get past them. */
const hidden: Record<string, readonly string[]> = {
  "in what an option gives to run": [
    "env -S 'git push'",
    "env -S'git push'",
    String.raw`env -iS 'git\_push'`,
    "env --split-string='git push'",
    "fish --command='git push'",
    "fish --init-command 'git push'",
    "pwsh -Command 'git push'",
    "tcsh -c 'git push'",
    "script -qc'git push' /dev/null",
    "su bob --command='git push'",
    "mapfile -t -C 'git push' -c 1 < x",
    "compgen -C 'git push'",
    "hyperfine 'git push'",
    "sg staff 'git push'",
  ],
  "in settings of git": [
    "git -c alias.x=push x",
    "git -c alias.x='!git push' x",
    "git -c alias.x=push -c alias.y=x y",
    "git -c alias.y='x origin' -c alias.x='!git push' y",
    "git -c alias.x=push -c alias.y=x -c alias.z=y z",
    "git -c alias.push=log -c alias.x=push x",
    `git -c alias.x='"push" --force' x`,
    "git -C repo -c 'alias.x=!f() { git push; }; f' x",
    "git -c core.sshCommand='sh -c \"git push\"' fetch",
    "git -c core.pager='git push' log",
    "git -c diff.external='git push' diff",
    "GIT_SSH_COMMAND='git push' git fetch",
    "EDITOR='git push' git commit",
    `git ${"-c core.pager=x ".repeat(40)}-c alias.x=push x`,
  ],
  "in what feeds a shell": [
    "echo git push | ssh host",
    "ssh -p 22 -i key host <<< 'git push'",
    "printf '%s\\n' git\\ push | su - bob",
    "su <<< 'git push'",
    "sudo -s <<< 'git push'",
    "sudo -u bob -i <<< 'git push'",
    "newgrp staff <<< 'git push'",
    "unshare -r <<< 'git push'",
    "sh < <(echo git push)",
    "echo git push > >(sh)",
    "echo git push | tee >(bash) > /dev/null",
    "exec > >(bash); echo git push",
    "echo git push | bash /proc/self/fd/0",
    "echo git push | csh",
    "echo git push | an-unknown-wrapper sh",
    "echo git push | grep . | sh",
    "echo git push | $SHELL",
    "echo '* * * * * git push' | crontab -",
    String.raw`printf '\x67it push' | sh`,
    String.raw`echo -e 'git\x20push' | sh`,
    String.raw`eval "$(printf '\147it push')"`,
    String.raw`echo -e '\0147it push' | bash`,
  ],
  "in what xargs puts together": [
    "echo git push | xargs -I % sh -c %",
    "echo push | xargs -I'<>' git '<>'",
    "echo push | xargs -IX git X",
    "echo push | xargs -I{} sh -c 'git {}'",
    "cat f | xargs -I{} sh -c 'git {}'",
    "echo push | xargs --replace=@ sh -c 'git @ origin'",
    "echo push | xargs sh -c 'git \"$0\"'",
    "xargs sh -c 'git \"$@\"' _ <<< push",
    "echo git push | xargs env",
    "echo git push | xargs sudo",
  ],
  "behind variables": [
    "git${IFS}push",
    "git$IFS'push'",
    "g$x'it' push",
    'git "pu$x"sh',
    "g$x\\it push",
    "git pu$1sh",
    "${x:-git} push",
    "git ${x:=push}",
    "$SHELL -c 'git push'",
    "$0 -c 'git push'",
    "sh -c 'git \"$1\"' _ push",
    "bash -c '$0 push' git",
    "sh -c 'exec \"$@\"' _ git push",
    "find . -exec sh -c '$0 push' git ';'",
  ],
  "in here-documents and files that are read": [
    "sh <<EOF\ngit push\nEOF",
    "bash -s <<-'EOF'\n\tgit push\n\tEOF",
    "cat <<'E O F' | sh\ngit push\nE O F",
    "sh <<A <<B\nls\nA\ngit push\nB",
    "ssh host bash -s <<EOF\ngit push\nEOF",
    "xargs git <<EOF\npush\nEOF",
    'while read l; do eval "$l"; done <<EOF\ngit push\nEOF',
    "cat > x.sh <<EOF && sh x.sh\ngit push\nEOF",
    "source /dev/stdin <<EOF\ngit push\nEOF",
    "echo git push | . /dev/fd/0",
    ". <(echo git push)",
    "bash --rcfile <(echo git push) -i",
    "bash --init-file <(echo git push) -ic true",
  ],
  "in what variables give to run": [
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='push' git x",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!git push' git x",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0='git push' git log",
    "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0=push; git x",
    `GIT_CONFIG_PARAMETERS="'alias.x=push'" git x`,
    `GIT_CONFIG_PARAMETERS="'alias.x'='!git push'" git x`,
    "x=push git --config-env=alias.p=x p",
    "x='git push' git --config-env core.pager=x log",
    "LESSOPEN='|git push' less x",
    "export LESSOPEN='| git push %s'; less x",
    "LESSCLOSE='git push' less x",
    "MANPAGER='git push' man ls",
    "declare -x EDITOR='git push'; git commit",
    "PAGER='git push'; git log",
    "PS4='$(git push)' bash -xc true",
    "PS4='`git push`'; set -x; ls",
    "BASH_ENV=<(echo git push) bash -c true",
    "ENV=<(echo git push) sh -i",
  ],
  "in what a builtin keeps for later": [
    "trap 'git push' EXIT",
    "trap -- 'git push' DEBUG",
    `bind -x '"a":git push'`,
    "complete -C 'git push' x",
    "alias ls='git push'; ls",
    "coproc X { git push; }",
    "{fd}>x git push",
    "for x do git push; done",
    "time -- git push",
    "time -p -- git push",
  ],
  "behind escapes in quotes": [
    String.raw`bash -c $'cd x\ngit push'`,
    String.raw`eval $'git\tpush'`,
    String.raw`ssh host $'cd x\ngit push'`,
    String.raw`echo $'cd x\ngit push' | sh`,
    'bash -c "cd x && git \\\npush"',
    'git "pu\\\nsh"',
    String.raw`bash -c "echo -e 'git\x20push' | sh"`,
  ],
  "in the brackets of a name": [
    "[[ -v 'a[$(git push)]' ]]",
    "printf -v 'a[$(git push)]' x",
    "unset 'a[`git push`]'",
    "let 'a[$(git push)]=1'",
    "read 'a[$(git push)]' <<< x",
  ],
  "behind other wrappers": [
    "toybox timeout 1 git push",
    "/lib64/ld-linux-x86-64.so.2 /usr/bin/git push",
    "ssh-agent git push",
    "pkexec --user bob git push",
    "gdb --args git push",
    "runcon -t x git push",
    "firejail --quiet git push",
    "tini -- git push",
    "fd . -x git push",
    "fdfind -e ts --exec git push",
    "perf stat git push",
    "perf record -o x -- git push",
    "proot -r / git push",
    "cgexec -g cpu:x git push",
    "daemonize /usr/bin/git push",
    "mosh host -- git push",
    "rsh host git push",
    "linux64 git push",
    "sem --fg git push",
  ],
};

describe.each(Object.entries(hidden))("A command is found %s", (_where, commands) => {
  test.each(commands)("%s", (command) => {
    expect(judge(command)).not.toBe("allow");
    // The rule that denies sees it in the same places.
    if (command.includes("git push"))
      expect(judge(command.replace("git push", "git push --force"))).toBe("deny");
  });
});

describe("What looks like it keeps its verdict", () => {
  test.each([
    "ps aux | grep bash",
    "ps aux | grep -c zsh | cat",
    "ls /bin | rg -i sh",
    "git -c alias.p=push log",
    "git -c alias.p=push -c alias.l=log l",
    "git -c alias.lg='log --oneline' -c alias.l=lg l push",
    "git -c alias.log='log --oneline' log",
    "git -c core.pager=cat log",
    "GIT_PAGER=cat git log",
    "git -c user.name=push commit",
    "env FOO=1 make",
    "env -u push make",
    "ssh host ls",
    "tar c . | ssh host tar x",
    "ssh-keygen -t ed25519",
    "sudo -u push ls",
    "cat f | sudo tee g",
    "ls > >(tee log)",
    "diff <(sort a) <(sort b)",
    "wc -l < <(git log)",
    "ls | xargs -I{} cp {} /tmp/push",
    "ls | xargs -I % sh -c 'wc -l %'",
    'echo "${x:-push}"',
    "sh -c 'echo \"$1\"' _ push",
    '[ -n "${a[0]}" ]',
    "printf '%s\\n' \"${list[$i]}\"",
    "crontab -l",
    'echo "$x"y',
    "mapfile -t lines < x",
    "unshare -r ls",
    "cat <<EOF\nSay git push to send it.\nEOF",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=Ada git commit",
    "git --config-env=user.name=X commit",
    "export EDITOR=vim; git commit",
    "PS4='+ ' bash -x script.sh",
    "ENV=test npm run build",
    "{fd}>push ls",
    "bash --rcfile push -c ls",
  ])("%s", (command) => {
    expect(judge(command)).toBe("allow");
  });
});

/** docs/rules.md says that these are not seen. When one of them is, the page changes. */
describe("What no command line says is not seen", () => {
  test.each([
    "x=push; git $x",
    "{git,push}",
    "/usr/bin/gi? push",
    'f() { git "$@"; }; f push',
    "shopt -s expand_aliases; alias g=git; g push",
    "hash -p /usr/bin/git g; g push",
    "read x <<< 'git push'; $x",
    'set -- git push; "$@"',
    "sh script.sh",
    "sh < script.sh",
    "make push",
    "perl -e 'system(\"git push\")'",
    "awk 'BEGIN { system(\"git push\") }'",
    "sed '1e git push' x",
    "printf 'a:\\n\\tgit push\\n' | make -f -",
    "git submodule foreach 'git push'",
    "tar -xf x --to-command='git push'",
    "rsync -e 'git push' a b:",
    "docker run x git push",
  ])("%s", (command) => {
    expect(judge(command)).toBe("allow");
  });
});

test("a long option that is cut short stands for its short form, too", () => {
  const deny = createPolicy([{ tool: "bash", command: "rm -rf*", action: "deny" }], "allow");
  for (const command of ["rm --rec --fo x", "rm --recursive --for x", "rm -r --fo x"])
    expect([command, deny(bash, { command }).action]).toEqual([command, "deny"]);
  expect(deny(bash, { command: "rm --verb x" }).action).toBe("allow");
});
