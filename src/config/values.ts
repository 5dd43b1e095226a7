import { isIP } from "node:net";
import { z } from "zod";

/** Kinds of values that more than one part of the settings has. */

export const modelName = z
  .string()
  .regex(
    /^(demo|[a-z0-9][a-z0-9_-]*\/.+)$/,
    "expected anthropic/<id>, openai/<id>, minimax/<id>, <name of a provider>/<id> or demo",
  );

export const url = z.url({
  protocol: /^https?$/,
  error: "expected an address such as https://proxy.example",
});

export const count = (min: number, max: number) => z.number().int().min(min).max(max);

export const hostName = /^(?=.{1,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/;

export const hosts = z
  .array(
    z
      .string()
      .refine((rule) => hostName.test(rule.replace(/^\*\./, "")), "expected example.com or *.example.com"),
  )
  .default([]);

/** An address, or a network with its prefix. */
export const network = z.string().refine((text) => {
  const [address = "", prefix, ...more] = text.split("/");
  const bits = { 4: 32, 6: 128 }[isIP(address)];
  if (bits === undefined || more.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
}, "expected an address or a network, e.g. 10.0.0.7 or 10.0.0.0/8");

export const channelId = z.string().regex(/^[^:]+:[^:]+:[^:]+$/, "expected platform:workspace:channel");

export const variableName = z
  .string()
  .regex(/^[A-Za-z_]\w*$/, "expected the name of an environment variable, e.g. GITHUB_HOOK_SECRET");

export const timeZone = z.string().refine(isTimeZone, "expected a time zone, e.g. UTC or Europe/Berlin");

function isTimeZone(name: string): boolean {
  try {
    Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
