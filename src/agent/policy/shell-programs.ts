/** What is known of the programs and variables that commands name: the tables behind the judging of commands. */

/** Words of the grammar that may stand before a command. */
export const grammar = new Set([
  ...["{", "}", "!", "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "esac"],
  ...["time", "coproc"],
]);

/** They begin a line that holds no command of its own: what it substitutes and what follows is found by itself. */
export const headers = new Set(["for", "case", "select"]);

export const shells = new Set([
  ...["sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "fish"],
  ...["csh", "tcsh", "mksh", "yash", "pwsh", "powershell", "nu", "elvish"],
]);

/** Programs that look for their last word in what they read, and run nothing. */
export const searches = new Set(["grep", "egrep", "fgrep", "rg", "ag", "ack"]);

/** Programs that may hand what is behind them to a shell. */
export const evaluators = new Set([
  ...["su", "ssh", "script", "watch", "parallel", "flock", "tmux", "screen", "runuser", "entr"],
  ...["sg", "hyperfine"],
]);

/** Programs that read commands for a shell to run later. */
export const schedulers = new Set(["at", "batch", "crontab"]);

/** Programs that complete the command behind them with words that they read. */
export const completers = new Set(["xargs", "parallel"]);

/** Programs that run what is behind them, after options that we do not know. */
export const wrappers = new Set([
  ...evaluators,
  ...completers,
  ...["sudo", "doas", "env", "command", "builtin", "exec", "nohup", "nice", "ionice", "chrt", "timeout"],
  ...["setsid", "stdbuf", "busybox", "find", "unshare", "chroot", "strace", "ltrace", "nsenter", "taskset"],
  ...[
    "prlimit",
    "time",
    "setpriv",
    "setarch",
    "systemd-run",
    "systemd-inhibit",
    "dbus-run-session",
    "xvfb-run",
  ],
  ...["fakeroot", "faketime", "unbuffer", "chronic", "proxychains", "proxychains4", "torsocks", "caffeinate"],
  ...[
    "toybox",
    "pkexec",
    "run0",
    "gosu",
    "su-exec",
    "runcon",
    "ssh-agent",
    "dbus-launch",
    "rlwrap",
    "valgrind",
    "gdb",
  ],
  ...[
    "catchsegv",
    "numactl",
    "eatmydata",
    "firejail",
    "bwrap",
    "cpulimit",
    "start-stop-daemon",
    "tini",
    "dumb-init",
  ],
  ...["fd", "fdfind", "perf", "proot", "cgexec", "daemonize", "mosh"],
  ...["rsh", "remsh", "linux32", "linux64", "sem", "capsh", "gpg-agent", "multitime"],
  ...["choom", "uclampset", "ifne", "logsave", "sshpass", "torify"],
]);

const docker = "--config -c --context -H --host -l --log-level --tlscacert --tlscert --tlskey";
const kubectl =
  "-n --namespace --context --cluster --user --kubeconfig -s --server --token --as --as-group --as-uid " +
  "--request-timeout --cache-dir --certificate-authority --client-certificate --client-key --tls-server-name " +
  "--username --password --profile --profile-output -v --v --vmodule";
const packages =
  "--prefix -C --dir --cwd -w --workspace --registry --userconfig --globalconfig --cache --loglevel -F --filter " +
  "--tag --otp --access --scope --store-dir --modules-folder --mutex";

/**
 * Options before the subcommand whose value is the next word, from each program's own manual. The word behind any other
 * option may be its value or not, and is judged both ways.
 */
const optionsWithValue: Readonly<Record<string, string>> = {
  git: "-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source --exec-path",
  hg: "-R --repository --cwd --config --encoding --color --pager",
  svn: "--username --password --config-dir --config-option",
  docker,
  podman: `${docker} --connection --url --identity --root --runroot --runtime --storage-driver --storage-opt --cgroup-manager`,
  "docker-compose":
    "-f --file -p --project-name --profile --env-file --project-directory -c --context -H --host",
  nerdctl: "-a --address -n --namespace --snapshotter --data-root --host --storage-driver",
  kubectl,
  oc: kubectl,
  helm: "-n --namespace --kube-context --kubeconfig --kube-apiserver --kube-token --registry-config --repository-cache --repository-config",
  npm: packages,
  pnpm: packages,
  yarn: packages,
  bun: "--cwd -c --config --env-file",
  gh: "-R --repo",
  glab: "-R --repo",
  cargo: "--manifest-path --config -Z --color -C --target-dir",
  go: "-C",
  pip: "--log --proxy --retries --timeout --cache-dir --cert --client-cert --python",
  aws: "--profile --region --output --endpoint-url --query --color --ca-bundle --cli-read-timeout --cli-connect-timeout",
  gcloud:
    "--project --account --configuration --format --verbosity --impersonate-service-account --billing-project",
  az: "--subscription --output -o --query",
  systemctl:
    "-H --host -M --machine -t --type -p --property -n --lines -o --output -s --signal --root --image",
  "apt-get": "-o --option -c --config-file -t --target-release -a --host-architecture",
  apt: "-o --option -c --config-file -t --target-release -a --host-architecture",
  make: "-C --directory -f --file --makefile -I --include-dir -o -W --eval",
  fly: "-a --app -c --config -t --access-token",
  flyctl: "-a --app -c --config -t --access-token",
  heroku: "-a --app -r --remote",
  vercel: "--cwd -S --scope --token -t -Q --global-config -A --local-config",
  terraform: "",
};
const valued = new Map(
  Object.entries(optionsWithValue).map(([program, options]) => [program, new Set(options.split(" "))]),
);

/** Whether the word behind this option is its value for sure. */
export function takesValue(program: string, option: string): boolean {
  return valued.get(program)?.has(option) ?? false;
}

/** Options that say the same, by program. */
const synonyms: Readonly<Record<string, readonly (readonly string[])[]>> = {
  git: [
    ["-f", "--force"],
    ["-d", "--delete"],
  ],
  rm: [
    ["-r", "-R", "--recursive"],
    ["-f", "--force"],
  ],
  cp: [["-r", "-R", "--recursive"]],
  chmod: [["-R", "--recursive"]],
  chown: [["-R", "--recursive"]],
  npm: [["-f", "--force"]],
  systemctl: [["-f", "--force"]],
};

/** Other names of an option, itself not among them. */
export function findSynonyms(program: string, option: string): readonly string[] {
  // `git branch -D` is short for both.
  if (program === "git" && option === "-D") return ["-d", "-f", "--delete", "--force"];
  const isCutShort = /^--../.test(option);
  const isMeant = (name: string) => name === option || (isCutShort && name.startsWith(option));
  return synonyms[program]?.filter((group) => group.some(isMeant)).flat() ?? [];
}

/** What a word that is no option says as if it were one: the refspecs of `git push` that force and delete. */
export function findImpliedOptions(program: string, word: string): readonly string[] {
  if (program !== "git") return [];
  if (word.startsWith("+")) return ["-f", "--force"];
  return word.startsWith(":") ? ["-d", "--delete"] : [];
}

/**
 * Variables that make another program of a command: those of the loader, of a shell's or an interpreter's start, of
 * search paths, and those that name a program to run.
 */
const steering =
  /^(?:(?:LD|DYLD|BASH|GIT|PYTHON|PERL5?|RUBY|NODE|NPM_CONFIG|JAVA_TOOL|JDK_JAVA|MAVEN|GRADLE|CARGO|RUSTC|DOCKER|KUBE|SSH|AWS)_?\w*|(?:\w*_)?(?:PATH|ENV|IFS|PS[0-4]|PRELOAD|OPT|OPTS|OPTIONS|FLAGS|ARGS|CMD|COMMAND|PROGRAM|(?:MAN)?PAGER|LESSOPEN|LESSCLOSE|EDITOR|VISUAL|BROWSER|SHELL|SHELLOPTS|HOME|HOST|CONFIG|RC|INIT|LIB|LIBRARY|PROXY|MODULE|PLUGIN|WRAPPER|ASKPASS|INCLUDE|CC|CXX|AR|AS)|\w*PATH|MAKEFLAGS|GOFLAGS|GLOBIGNORE)$/i;
/** Of those names, the ones that steer nothing. */
const harmless = new Set(["NODE_ENV", "RUST_BACKTRACE", "CARGO_TERM_COLOR", "PYTHONUNBUFFERED"]);

/** The variable that an assignment sets, if that may change which program a command runs. */
export function findSteeringVariable(assignment: string): string | undefined {
  const name = /^\w+/.exec(assignment)?.[0] ?? "";
  return steering.test(name) && !harmless.has(name) ? name : undefined;
}

/** The program's name without its folder. The loader counts as what it runs programs like: `env`. */
export function nameProgram(word: string): string {
  const name = word.includes("/") ? word.slice(word.lastIndexOf("/") + 1) : word;
  return name.startsWith("ld") && loader.test(name) ? "env" : name;
}

const loader = /^ld(?:-linux[\w-]*|-musl[\w-]*)?\.so(?:\.\d+)?$/;
