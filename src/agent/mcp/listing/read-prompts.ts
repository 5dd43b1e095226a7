import { z } from "zod";
import { removeHidden } from "../../text/hidden-characters.ts";
import { cutText, toOneLine, toWellFormed } from "../../text/text.ts";
import { startDeadline } from "../deadline.ts";
import { describeError } from "../failure.ts";
import type { ProtocolClient } from "../transport/link.ts";
import { listPages } from "./list-pages.ts";
import type { Listing, ServerPrompt } from "./listing.ts";

/** More than these nobody looks through while writing a task. */
const mostPrompts = 100;
const mostArguments = 10;
const descriptionChars = 100;
/** As much as of the fields of servers' own forms. */
const aboutChars = 200;

/** What people can write behind a command; other names are left out. */
const namePattern = /^[\w.:/-]{1,64}$/;

const argumentSchema = z.looseObject({
  name: z.string().regex(/^[\w.-]{1,64}$/),
  title: z.string().optional(),
  description: z.string().optional(),
  required: z.boolean().default(false),
});

const promptSchema = z.looseObject({
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  arguments: z.array(argumentSchema).max(mostArguments).default([]),
});

/** The prompts of a server, and a sentence for each that cannot be offered. `hasFailed`: it has not told them. */
export type PromptListing = Pick<Listing, "prompts" | "leftOut"> & { hasFailed?: true };

/**
 * The prompts of a server. Where they cannot be listed, its tools stay: a sentence says why. Never rejects.
 *
 * @param ms how long that may take
 */
export async function listPrompts(
  client: ProtocolClient,
  ms: number,
  life: AbortSignal,
): Promise<PromptListing> {
  const deadline = startDeadline(ms, life);
  try {
    const { entries, cut } = await listPages(client, "prompts", deadline.signal);
    const { prompts, leftOut } = keepUsable(entries);
    return { prompts, leftOut: cut === undefined ? leftOut : [...leftOut, cut] };
  } catch (error) {
    const why = deadline.expired() ? `no answer within ${ms / 1_000} s` : describeError(error);
    return { prompts: [], leftOut: [`Its prompts could not be listed: ${why}.`], hasFailed: true };
  } finally {
    deadline.release();
  }
}

function keepUsable(entries: readonly unknown[]): PromptListing {
  const prompts = new Map<string, ServerPrompt>();
  const leftOut: string[] = [];
  for (const entry of entries) {
    const parsed = promptSchema.safeParse(toWellFormed(entry));
    if (!parsed.success || !namePattern.test(parsed.data.name)) {
      const named = z.looseObject({ name: z.string() }).safeParse(entry);
      const name = named.success
        ? JSON.stringify(toPlain(named.data.name, descriptionChars))
        : "without a name";
      leftOut.push(`The prompt ${name} is left out: people could not write its name or its arguments.`);
    } else if (prompts.size === mostPrompts) {
      leftOut.push(`Of its prompts the first ${mostPrompts} are offered.`);
      break;
    } else if (!prompts.has(parsed.data.name)) {
      const { name, title, description = title ?? "", arguments: named } = parsed.data;
      prompts.set(name, {
        ...{ name, description: toPlain(description, descriptionChars) },
        arguments: named.map(toArgument),
      });
    }
  }
  return { prompts: [...prompts.values()], leftOut: leftOut.slice(0, 10) };
}

/** People write its name, so that its title only tells what it is. */
function toArgument(given: z.infer<typeof argumentSchema>): ServerPrompt["arguments"][number] {
  const { name, title = "", description = title, required } = given;
  const about = toPlain(description, aboutChars);
  return { name, ...(about !== "" && { about }), required };
}

function toPlain(text: string, characters: number): string {
  return cutText(toOneLine(removeHidden(text)).trim(), characters);
}
