import { z } from "zod";
import { network } from "./values.ts";

/** What somebody is at the console; `src/intake/access.ts` says what each may do. */
export const consoleRole = z.enum(["operator", "member", "viewer"]);

const name = z.string().regex(/^(?:\*|[^\p{Cc}]{1,100})$/u, "expected a name of at most 100 characters");

/** Over the network in clear a code could be read, and with it whoever signs in. */
const securedUrl = z
  .url({ protocol: /^https?$/, error: "expected an address such as https://login.example.com" })
  .refine((text) => {
    const { protocol, hostname } = new URL(text);
    return protocol === "https:" || ["127.0.0.1", "[::1]", "localhost"].includes(hostname);
  }, "expected https, or http on this machine only");

/** A provider of OpenID Connect at which people sign in. Its client's secret is in the environment. */
const openIdConnectSchema = z.strictObject({
  issuer: securedUrl.describe(
    "who signs people in: the address above .well-known/openid-configuration, e.g. https://login.example.com/realms/team",
  ),
  clientId: z
    .string()
    .min(1)
    .describe("Heddle's client there; its secret is HEDDLE_OPENID_CLIENT_SECRET in the environment"),
  address: securedUrl
    .refine((text) => new URL(text).pathname === "/", "expected an address without a path")
    .describe(
      "where people open the console, e.g. https://heddle.example.com; the client's redirect URI there is this with /sign-in/callback",
    ),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, "expected the name of a scope"))
    .default(["openid", "profile", "email"])
    .refine((scopes) => scopes.includes("openid"), "expected openid among them")
    .describe("what Heddle asks the provider to tell"),
  nameClaim: z
    .string()
    .min(1)
    .default("email")
    .describe(
      "the claim that is a person's name here and in console.people; email counts only where the provider has verified it",
    ),
  groupsClaim: z.string().min(1).default("groups").describe("the claim that lists a person's groups"),
  groups: z
    .record(name, consoleRole)
    .default({})
    .describe(
      "roles by group: operator, member or viewer; who is in several has the highest, whom console.people names the one that stands there",
    ),
});

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
        'roles of those whom the header or OpenID Connect names: operator, member or viewer; "*" stands for everybody else, who is refused without it',
      ),
    openIdConnect: openIdConnectSchema
      .exactOptional()
      .describe("lets people sign in at a provider of OpenID Connect"),
  })
  .refine(({ identityHeader, proxies }) => identityHeader === undefined || proxies.length > 0, {
    path: ["identityHeader"],
    error: "expected console.proxies as well: the header counts only from them",
  })
  .prefault({});
