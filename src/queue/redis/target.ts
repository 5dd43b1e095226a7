import type { RedisOptions } from "ioredis";

/** Where a Redis is and how one gets in. */
export interface Target {
  options: ClientOptions;
  /** The nodes to ask for the others, of a cluster. Absent for a single server and for sentinels. */
  nodes?: Place[];
}

export interface Place {
  host: string;
  port: number;
}

/** `replyMapping` changes the types of all replies; we keep ioredis's default. */
export type ClientOptions = Omit<RedisOptions, "replyMapping">;
