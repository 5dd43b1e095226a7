/** For the model and for people; a shell tells of the signal n that ended a program by the code 128 + n. */
export function describeExitCode(code: number): string {
  return code > 128 && code < 193 ? `exit code ${code} (signal ${code - 128})` : `exit code ${code}`;
}
