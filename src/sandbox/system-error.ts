/** What to do where a process may open no more files. */
export const moreFiles =
  "Let the process that runs Heddle open more files: `ulimit -n 65536`, `LimitNOFILE=` in a systemd unit, or `ulimits` in compose.";

/** Whether a limit on open files, of the process or of the system, is the reason. */
export function isOutOfFiles(error: unknown): boolean {
  return hasErrorCode(error, "EMFILE", "ENFILE");
}

/** Whether the operating system has refused with one of these codes, such as `ENOENT`. */
export function hasErrorCode(error: unknown, ...codes: string[]): error is Error & { code: unknown } {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}
