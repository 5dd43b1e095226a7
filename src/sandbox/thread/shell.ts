/** A script for bash, with these as `$1`, `$2` and so on. */
export interface ShellCommand {
  script: string;
  parameters: readonly string[];
}

/** What is run: a script, or a program and its arguments. */
export type Program = ShellCommand | readonly string[];

export function shellCommand(script: string, parameters: readonly string[] = []): ShellCommand {
  return { script, parameters };
}

export function isShellCommand(program: Program): program is ShellCommand {
  return "script" in program;
}

/** Bash without anybody's start-up files, to which a script and its parameters are given. */
export const shell = ["/bin/bash", "--noprofile", "--norc", "-c"] as const;
