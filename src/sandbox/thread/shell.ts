/** The program that runs a script with these as `$1`, `$2` and so on, and without anybody's start-up files. */
export function shellCommand(script: string, parameters: readonly string[] = []): string[] {
  return ["/bin/bash", "--noprofile", "--norc", "-c", script, "bash", ...parameters];
}
