import { z } from "zod";
import { count, timeZone } from "./values.ts";

/** What bounds turns that nobody has asked for at that moment: of triggers and of watched channels. */

const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, "expected a time of day, e.g. 22:00");

export const quietHours = z
  .strictObject({
    from: timeOfDay.describe("when they begin, e.g. 22:00"),
    to: timeOfDay.describe("and end, e.g. 07:00"),
    timeZone: timeZone.default("UTC").describe("whose clock that is, e.g. Europe/Berlin"),
  })
  .refine(({ from, to }) => from !== to, { path: ["to"], error: "expected another time than from" });

export type QuietHours = z.infer<typeof quietHours>;

export const loopLimit = z.strictObject({
  events: count(1, 1_000).describe("so many of them"),
  minutes: count(1, 1_440).describe("within any time of this length"),
});
