import { readFileSync } from "node:fs";
import { z } from "zod";

/** What package.json says of this program, in a clone and in an installed package alike. */
export const packageInfo = z
  .object({ version: z.string(), engines: z.object({ node: z.string() }) })
  .parse(JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")));
