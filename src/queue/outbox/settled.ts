/** For how long the last state of a progress message is known: no process freezes for longer and then goes on. */
export const settledSeconds = 3_600;
