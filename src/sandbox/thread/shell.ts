const shell = ["/bin/bash", "--noprofile", "--norc", "-c"] as const;

/** The program that runs a script with these as `$1`, `$2` and so on, and without anybody's start-up files. */
export function shellCommand(script: string, parameters: readonly string[] = []): string[] {
  return [...shell, script, "bash", ...parameters];
}

/** Whether a program is such a shell. */
export function isShellCommand(program: readonly string[]): boolean {
  return shell.every((word, index) => program[index] === word);
}
