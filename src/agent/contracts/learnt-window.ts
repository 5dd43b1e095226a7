import { z } from "zod";

/** What refusals have shown of a model's window, in the service's tokens. */
export const learntWindowSchema = z.looseObject({
  /** As the service named it. */
  window: z.number().positive().optional(),
  /** The smallest size that was refused although it seemed to fit. */
  refused: z.number().positive().optional(),
  /** What the window was believed to be: it counts as long as that is believed. */
  believed: z.number(),
  /** When it was refused, ms. */
  at: z.number(),
});
export type LearntWindow = z.infer<typeof learntWindowSchema>;

/** How long a refusal counts, ms: the service may be given a larger window. */
export const refusalMs = 24 * 60 * 60_000;
