/** For the model and for people; a shell tells of the signal n that ended a program by the code 128 + n. */
export function describeExitCode(code: number): string {
  return code > 128 && code < 193 ? `exit code ${code} (signal ${code - 128})` : `exit code ${code}`;
}

/**
 * How a command that ran has ended, where that was not with success, in the words of {@link describeExitCode}: its call
 * did all that it should, and is ok. Undefined for all other results.
 */
export function readFailedExit(tool: string, result: string): string | undefined {
  if (tool !== "bash") return undefined;
  return /^exit code (?!0(?:\n|$))\d+(?: \(signal \d+\))?(?=\n|$)/.exec(result)?.[0];
}
