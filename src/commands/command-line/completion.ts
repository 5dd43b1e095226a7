import { Argument, type Command } from "commander";
import type { Runner } from "./runner.ts";

/** Adds shell completion, which is made from the commands that the program has. */
export function addCompletion(program: Command, run: Runner): void {
  const completion = program
    .command("completion")
    .description("print a script that completes commands, options and threads")
    .addArgument(new Argument("<shell>", "your shell").choices(["bash", "zsh", "fish"]))
    .action((shell: "bash" | "zsh" | "fish") =>
      run(async () => {
        process.stdout.write(scripts[shell]);
        return 0;
      }),
    );
  completion.addHelpText(
    "after",
    `
Examples:
  source <(heddle completion bash)                                          bash: also in ~/.bashrc
  source <(heddle completion zsh)                                           zsh: also in ~/.zshrc, after compinit
  heddle completion fish > ~/.config/fish/completions/heddle.fish           fish`,
  );
  program
    .command("complete", { hidden: true })
    .description("print what may come next, for the scripts of heddle completion")
    .argument("<shell>")
    .argument("<line>", "the line up to the cursor")
    .action((shell: string, line: string) =>
      run(async () => {
        const { findCandidates } = await import("./candidates.ts");
        const found = await findCandidates(program, splitLine(line));
        process.stdout.write(found.map((candidate) => `${format(shell, candidate)}\n`).join(""));
        // A connection to Redis may still be on its way.
        process.exit(0);
      }),
    );
}

/** The words behind the program's name; the last one, maybe empty, is being written. */
function splitLine(line: string): string[] {
  return line.trimStart().split(/\s+/).slice(1);
}

function format(shell: string, { value, about }: { value: string; about: string }): string {
  switch (shell) {
    case "fish":
      return `${value}\t${about}`;
    case "zsh":
      return `${value.replaceAll(":", "\\:")}:${about}`;
    default:
      return value;
  }
}

const scripts = {
  // Bash splits words at colons, which threads have: what stands before the last colon is there already.
  bash: `_heddle() {
  local line=\${COMP_LINE:0:COMP_POINT} found IFS=$'\\n'
  found=($(heddle complete bash "$line" 2>/dev/null))
  local word=\${line##*[[:space:]]} kept=
  [[ $COMP_WORDBREAKS == *:* ]] && kept=\${word%"\${word##*:}"}
  COMPREPLY=("\${found[@]#"$kept"}")
}
complete -o default -F _heddle heddle
`,
  zsh: `#compdef heddle
_heddle() {
  local -a found
  found=("\${(@f)$(heddle complete zsh "\${(j: :)words[1,CURRENT]}" 2>/dev/null)}")
  if [[ -n $found ]]; then _describe heddle found; else _files; fi
}
compdef _heddle heddle
`,
  fish: `function __heddle_complete
  set -l found (heddle complete fish (commandline -cp) 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c heddle -f -a '(__heddle_complete)'
`,
};
