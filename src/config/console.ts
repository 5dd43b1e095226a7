import { z } from "zod";
import { network } from "./values.ts";

/** What somebody is at the console; `src/intake/access.ts` says what each may do. */
export const consoleRole = z.enum(["operator", "member", "viewer"]);

const name = z.string().regex(/^(?:\*|[^\p{Cc}]{1,100})$/u, "expected a name of at most 100 characters");

/** How the console is reached, and who people are there. */
export const consoleSchema = z
  .strictObject({
    proxies: z
      .array(network)
      .default([])
      .describe(
        "addresses and networks of reverse proxies before the console: only theirs is the X-Forwarded-For that counts, and they may hold as many connections as there are",
      ),
    identityHeader: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,64}$/, "expected the name of a header, e.g. X-Forwarded-User")
      .exactOptional()
      .describe(
        "header in which one of these proxies says who somebody is, e.g. X-Forwarded-User; the proxy must take it out of what it is sent",
      ),
    people: z
      .record(name, consoleRole)
      .default({})
      .describe(
        'roles of those whom the header names: operator, member or viewer; "*" stands for everybody else, who is refused without it',
      ),
  })
  .refine(({ identityHeader, proxies }) => identityHeader === undefined || proxies.length > 0, {
    path: ["identityHeader"],
    error: "expected console.proxies as well: the header counts only from them",
  })
  .prefault({});
