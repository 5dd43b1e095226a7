import { z } from "zod";
import { headers } from "./models.ts";
import { url } from "./values.ts";

/** The providers that need no entry, because variables of the environment describe them. */
export const knownProviders = ["anthropic", "openai", "minimax"] as const;
export type KnownProvider = (typeof knownProviders)[number];

export function isKnownProvider(name: string): name is KnownProvider {
  return knownProviders.some((known) => known === name);
}

const example = "e.g. { protocol: openai-chat, baseUrl: http://127.0.0.1:11434/v1 }; docs/models.md has more";

/** Services of models beside each other, in `heddle.yaml`. */
export const providersSchema = z
  .record(
    z
      .string()
      .regex(
        /^(?!demo$)[a-z0-9][a-z0-9_-]*$/,
        "expected a name of small letters and digits, other than demo",
      ),
    z.strictObject({
      protocol: z
        .enum(["anthropic", "openai-chat", "openai-responses"])
        .exactOptional()
        .describe("which of them it speaks"),
      baseUrl: url
        .exactOptional()
        .describe("its address, as its own documentation names it for that protocol's SDK"),
      keyVariable: z
        .string()
        .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "expected the name of a variable, never the key itself")
        .exactOptional()
        .describe("which variable of the environment or .env holds the key; without it no key is sent"),
      headers: headers.exactOptional(),
    }),
  )
  .superRefine((providers, { addIssue }) => {
    for (const [name, { protocol, baseUrl }] of Object.entries(providers)) {
      if (isKnownProvider(name)) continue;
      for (const [key, value] of Object.entries({ protocol, baseUrl })) {
        if (value === undefined)
          addIssue({ code: "custom", path: [name, key], message: `expected a value, ${example}` });
      }
    }
  })
  .default({})
  .describe(
    "services by name; their models are <name>/<id>. An entry anthropic, openai or minimax changes what the environment says of it (docs/models.md)",
  );

export type Providers = z.infer<typeof providersSchema>;
