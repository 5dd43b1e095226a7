import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { launchChromium, noChromium } from "../browser/chromium.ts";
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
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis?.stop());
  // Hooks after a test run in the reverse order: the programs end first.
  afterEach(async () => {
    await redis?.client().flushall();
  });
  const here = usePlace();
  return {
    get place() {
      return here.place;
    },
    get redis() {
      return begun(redis);
    },
  };
}

/** Gives each test of this file a place of its own. What a failed test printed is shown. */
export function usePlace(): Pick<Setting, "place"> {
  let place: Place | undefined;
  beforeEach(async () => {
    place = await newPlace();
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === "fail") console.error(place?.outputs());
    await place?.clean();
  });
  return {
    get place() {
      return begun(place);
    },
  };
}

/** Gives the tests of this file a browser. Where there is none they are skipped, and say so. */
export function useBrowser(): { readonly browser: Browser } {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  beforeEach((context) => context.skip(browser === undefined, noChromium));
  return {
    get browser() {
      return begun(browser);
    },
  };
}

function begun<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new Error("No test has begun.");
  return part;
}
