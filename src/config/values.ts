import { z } from "zod";

/** Kinds of values that more than one part of the settings has. */

export const modelName = z
  .string()
  .regex(
    /^(demo|(anthropic|openai|minimax)\/.+)$/,
    "expected anthropic/<id>, openai/<id>, minimax/<id> or demo",
  );

export const count = (min: number, max: number) => z.number().int().min(min).max(max);

export const hostName = /^(?=.{1,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/;

export const hosts = z
  .array(
    z
      .string()
      .refine((rule) => hostName.test(rule.replace(/^\*\./, "")), "expected example.com or *.example.com"),
  )
  .default([]);

export const channelId = z.string().regex(/^[^:]+:[^:]+:[^:]+$/, "expected platform:workspace:channel");
