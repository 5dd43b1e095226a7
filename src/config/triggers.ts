import { z } from "zod";
import { budget } from "./budgets.ts";
import { eventPlace, eventTemplate } from "./event-places.ts";
import { loopLimit, quietHours } from "./trigger-limits.ts";
import { channelId, count, modelName, variableName } from "./values.ts";

/** What starts turns from outside, in `heddle.yaml`. docs/triggers.md explains it. */

const scalar = z.union([z.string(), z.number(), z.boolean()]);

const path = z
  .string()
  .regex(
    eventPlace,
    "expected @event or names with dots between them, e.g. pull_request.number or commits[0].id",
  );

const notATemplate =
  "expected behind each {{ a value's place and }}, e.g. {{pull_request.title}}, {{commits[0].id}}, {{body}} or {{@event}}";

const condition = z
  .strictObject({
    path: path.describe(
      "where the value stands in the body, e.g. action or alerts.0.status; @event: its kind",
    ),
    is: scalar.exactOptional().describe("the value that it must have"),
    in: z.array(scalar).min(1).exactOptional().describe("or one of these"),
  })
  .refine((one) => (one.is === undefined) !== (one.in === undefined), "expected either is or in");

const headerName = z.string().regex(/^[A-Za-z][A-Za-z0-9-]*$/, "expected a header's name, e.g. X-Signature");

const triggerSchema = z
  .strictObject({
    verify: z
      .enum(["github", "standard-webhooks", "slack", "hmac", "gitlab", "bearer"])
      .describe(
        "how a request proves where it comes from; hmac: HMAC-SHA256 of the body in hex, in `header`",
      ),
    secretVariable: variableName.describe("the environment variable with the secret"),
    header: headerName.exactOptional().describe("with hmac: the header with the signature"),
    idHeader: headerName
      .exactOptional()
      .describe("with hmac and bearer: the header with the delivery's id; without it a hash of the body"),
    when: z.array(condition).max(20).default([]).describe("all of these must hold; other events are ignored"),
    ownWork: z
      .array(condition)
      .max(20)
      .default([])
      .describe(
        "any of these shows that the agent's own work caused the event, which is dropped, e.g. its account at sender.login",
      ),
    ownApp: z
      .enum(["drop", "take"])
      .default("drop")
      .describe(
        "with github, what the GitHub App does that Heddle works as (GITHUB_APP_CLIENT_ID); take: it begins turns like anything else",
      ),
    loopLimit: loopLimit
      .exactOptional()
      .describe(
        "events that one thread is given, or all threads together without threadKey; the rest is dropped",
      ),
    prompt: z
      .string()
      .min(1)
      .max(10_000)
      .regex(eventTemplate, notATemplate)
      .describe(
        "the task; {{path}} stands for a value, {{body}} for the whole body, {{@event}} for its kind",
      ),
    channel: channelId.describe("where the threads are opened, e.g. slack:T012345:C012345"),
    threadKey: z
      .string()
      .min(1)
      .max(300)
      .regex(eventTemplate, notATemplate)
      .exactOptional()
      .describe(
        "events with the same key share a thread, e.g. {{repository.full_name}}#{{pull_request.number}}; without it each gets its own",
      ),
    model: modelName.exactOptional().describe("the model for its threads"),
    onBehalfOf: z
      .strictObject({
        id: z.string().min(1).max(100).describe("the person's id on the channel's platform"),
        name: z.string().min(1).max(80),
      })
      .describe("whose permission and budget count; access must let that person ask there"),
    quietHours: quietHours
      .exactOptional()
      .describe("what comes in them is stored at once, and its turn begins when they end"),
    budget: budget
      .prefault({})
      .describe("what its turns may use in a day, besides the budgets that count for everybody's turns"),
    perHour: count(1, 1_000).default(30).describe("events that it takes in an hour; the rest gets 429"),
  })
  .refine(({ verify, header }) => (verify === "hmac") === (header !== undefined), {
    path: ["header"],
    error: "expected with hmac, and only there",
  });

export type TriggerSettings = z.infer<typeof triggerSchema>;

export const triggersSchema = z
  .record(
    z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, "expected a short name in small letters, e.g. pull-requests"),
    triggerSchema,
  )
  .default({})
  .describe("webhooks that start turns, by a name of your own: POST /hooks/<name>");

const publicOrigin = z
  .string()
  .refine((text) => {
    const url = URL.parse(text);
    if (!url || url.pathname !== "/" || url.search || url.hash || url.username || url.password) return false;
    const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
    return url.protocol === "https:" || (url.protocol === "http:" && isLocal);
  }, "expected an https address without a path, e.g. https://heddle.example; http only on this machine")
  .transform((text) => new URL(text).origin);

export const hooksSchema = z
  .strictObject({
    host: z.string().min(1).default("127.0.0.1").describe("the address that webhooks are received on"),
    port: count(0, 65_535)
      .default(3400)
      .describe(
        "and the port, which is only opened where triggers has an entry, a repository has feedback or address is set; 0: any free one",
      ),
    address: publicOrigin
      .exactOptional()
      .describe(
        "where browsers and GitHub reach that port, e.g. https://heddle.example; accounts of persons at MCP servers need it, and an App that the console registers is told it",
      ),
  })
  .prefault({});
