import type { Exposed } from "../../sandbox/sandbox.ts";

export const sharePortName = "share_port";
export const shareFolderName = "share_folder";

/** Shows people what a thread serves, at addresses that nobody can guess. */
export interface PreviewAccess {
  /** Why nothing more may be shown, in a sentence; undefined where it may. */
  findObstacle(): string | undefined;
  /**
   * Gives it an address of its own, which ends with the time, with its background job and with a stop.
   *
   * @param minutes at most; the operator's limit where that is less or none is given
   */
  publish(exposed: Exposed, minutes: number | undefined): Preview;
}

/** What is shown. */
export interface Preview {
  address: string;
  /** When it ends at the latest, ms. */
  until: number;
}
