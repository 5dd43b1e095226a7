/**
 * What all processes together may ask of a platform as one bot, where the platform counts all requests of a bot,
 * whatever they are for. It never holds up a request for long: where the processes cannot agree, each goes on by itself.
 */
export interface RequestLimit {
  /** Asks for one request. @param isUrgent people wait for it: what is not leaves some of the limit to what is */
  acquire(isUrgent: boolean): Promise<RequestPermit>;
  /** The platform takes nothing of the bot for so long, ms: no process asks it meanwhile. */
  pause(ms: number): Promise<void>;
  /** The platform has refused a request in the way of which it takes only so many before it shuts the bot out. */
  countInvalid(): Promise<void>;
}

/**
 * - `go`: the request is counted.
 * - `wait`: too many were sent just now; ask again in `ms`.
 * - `paused`: the platform takes nothing, or too much was refused: not before `ms` have passed.
 */
export type RequestPermit = { kind: "go" } | { kind: "wait"; ms: number } | { kind: "paused"; ms: number };
