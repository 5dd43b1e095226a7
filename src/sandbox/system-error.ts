/** Whether the operating system has refused with one of these codes, such as `ENOENT`. */
export function hasErrorCode(error: unknown, ...codes: string[]): error is Error & { code: unknown } {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}
