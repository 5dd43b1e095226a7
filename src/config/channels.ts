import { z } from "zod";
import { registriesSchema } from "./registries.ts";
import { repositoryName } from "./repositories.ts";
import { toolChainName } from "./sandbox.ts";
import { channelId, hosts, modelName } from "./values.ts";
import { watchSchema } from "./watch.ts";
import { channelWebSchema } from "./web.ts";

const names = z.array(z.string().min(1));

export const modelChoices = z
  .array(modelName)
  .describe("models that people may choose with an option of the slash command");

/** What is different in a channel. */
export const channelsSchema = z
  .record(
    channelId,
    z.strictObject({
      model: modelName
        .exactOptional()
        .describe("the model for this channel; takes precedence over HEDDLE_MODEL"),
      modelChoices: modelChoices.exactOptional(),
      skills: names.exactOptional().describe("only these skills"),
      tools: names
        .exactOptional()
        .describe(
          "only these tools, e.g. read_file, besides those that the channel's skills and repositories take; a trailing * matches anything: github__*",
        ),
      instructions: z.string().max(20_000).exactOptional().describe("added to agent.instructions"),
      verbosity: z
        .enum(["quiet", "normal", "full"])
        .exactOptional()
        .describe("what is shown of a turn; /quiet, /normal and /full change it in a thread"),
      plan: z
        .enum(["offer", "ask"])
        .exactOptional()
        .describe(
          "ask: every task begins with a plan that people approve before anything is changed. Default: offer, where !plan before a task asks for it",
        ),
      keepDays: z
        .number()
        .int()
        .min(1)
        .max(3_650)
        .exactOptional()
        .describe(
          "threads of the channel are deleted, with their files, so many days after their last activity. Default: as sessions.expireDays and workspaces say",
        ),
      web: channelWebSchema.exactOptional(),
      repositories: z
        .array(repositoryName)
        .exactOptional()
        .describe("the repositories that its threads can clone; without it none"),
      watch: watchSchema.exactOptional(),
      registries: registriesSchema
        .exactOptional()
        .describe(
          "package registries that its commands may reach, beside those of its repositories; without it none",
        ),
      toolChains: z
        .array(toolChainName)
        .exactOptional()
        .describe("tool chains of sandbox.toolChains that its commands have ready; without it none"),
      network: hosts.describe("the same as egress.channels.<channel>.allow"),
    }),
  )
  .refine(
    (channels) => Object.entries(channels).every(([id, { watch }]) => !watch || /^(slack|discord):/.test(id)),
    "expected watch only for channels of Slack and Discord",
  )
  .default({})
  .describe("by platform:workspace:channel, e.g. slack:T012345:C012345");
