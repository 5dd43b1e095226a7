/** Whether a server that answers with this status may give another answer in a while: it fails, or is asked too often. */
export function mayPass(status: number): boolean {
  return status >= 500 || status === 429;
}
