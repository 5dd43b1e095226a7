import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { startRedis, type TestRedis } from "../fakes/redis.ts";
import { newPlace, type Place } from "./program.ts";

/** Where the tests of a file run the program. Both are there once a test has begun. */
export interface Setting {
  readonly place: Place;
  readonly redis: TestRedis;
}

/** Gives each test of this file a place of its own, and all of them one Redis. What a failed test printed is shown. */
export function useSetting(): Setting {
  let redis: TestRedis | undefined;
  let place: Place | undefined;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());
  beforeEach(async () => {
    place = await newPlace();
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === "fail") console.error(place?.outputs());
    await place?.clean();
    await redis?.client().flushall();
  });
  const begun = <Part>(part: Part | undefined): Part => {
    if (part === undefined) throw new Error("No test has begun.");
    return part;
  };
  return {
    get place() {
      return begun(place);
    },
    get redis() {
      return begun(redis);
    },
  };
}
