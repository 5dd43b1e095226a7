import { z } from "zod";

/** What administrators may do in chat. */
export const administrationSchema = z
  .strictObject({
    chat: z
      .boolean()
      .default(true)
      .describe(
        "whether administrators may allow and deny people and set a channel's model, instructions, verbosity and budget in chat (docs/administration.md)",
      ),
  })
  .prefault({});
