import { z } from "zod";
import type { Route } from "./route.ts";
import { error } from "./schemas/answers.ts";

type Json = Record<string, unknown>;

/** The description of these routes, made from their schemas: https://spec.openapis.org/oas/v3.1.1.html */
export function describeApi(routes: readonly Route[]): Json {
  const { named, toSchema } = createSchemas();
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describeRoute(route, toSchema) };
  }
  return {
    openapi: "3.1.1",
    info: {
      title: "Heddle",
      version: "1",
      description: "The API of Heddle's console. Failures are one sentence for people, in `error`.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    security: [{ token: [] }, {}],
    paths,
    components: {
      schemas: named,
      securitySchemes: { token: { type: "http", scheme: "bearer", description: "heddle tokens create" } },
      responses: { Problem: { description: "Why not", content: json(toSchema(error, "output")) } },
    },
  };
}

function describeRoute(route: Route, toSchema: ToSchema): Json {
  const { summary, needs, body, status = 200 } = route;
  return {
    operationId: toOperationId(route),
    summary,
    description: `Needs the right to ${needs}.`,
    parameters: [...pathParameters(route), ...queryParameters(route, toSchema), ...headers(route)],
    ...(body !== undefined && {
      requestBody: {
        required: true,
        content:
          body === "bytes"
            ? { "application/octet-stream": { schema: { type: "string", format: "binary" } } }
            : json(toSchema(body, "input")),
      },
    }),
    responses: {
      ...describeAnswer(route, status, toSchema),
      default: { $ref: "#/components/responses/Problem" },
    },
  };
}

function describeAnswer({ answers }: Route, status: number, toSchema: ToSchema): Json {
  if (answers === "nothing") return { "204": { description: "It is done." } };
  if (answers === "file")
    return { "200": { description: "The file", content: { "application/octet-stream": {} } } };
  if ("events" in answers) {
    const events = Object.entries(answers.events).map(([name, schema]) => [name, toSchema(schema, "output")]);
    return {
      "200": {
        description:
          "Server-Sent Events. In each, `event` is one of these names and `data` JSON of its schema; other names are to be passed over.",
        content: {
          "text/event-stream": { schema: { type: "string" }, "x-events": Object.fromEntries(events) },
        },
      },
    };
  }
  return { [status]: { description: "Done", content: json(toSchema(answers, "output")) } };
}

function toOperationId({ method, path }: Route): string {
  const words = path
    .replace("/api/v1/", "")
    .replaceAll(/:(\w+)/g, "by-$1")
    .split(/[^a-z]+/);
  return [method.toLowerCase(), ...words].map((word, at) => (at === 0 ? word : capitalize(word))).join("");
}

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function pathParameters({ path }: Route): Json[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    ...{ name, in: "path", required: true, schema: { type: "string" } },
  }));
}

function queryParameters({ query }: Route, toSchema: ToSchema): Json[] {
  if (!query) return [];
  const { properties = {}, required = [] } = toSchema(query, "input");
  return Object.entries(properties).map(([name, schema]) => ({
    ...{ name, in: "query", required: required.includes(name), schema },
  }));
}

function headers({ isIdempotent, answers }: Route): Json[] {
  const describeHeader = (name: string, description: string) => ({
    ...{ name, in: "header", required: false, description, schema: { type: "string" } },
  });
  const key =
    "the same for every attempt of one request; kept for a day, 422 where it comes with another request";
  const isStream = typeof answers === "object" && "events" in answers && "entries" in answers.events;
  return [
    ...(isIdempotent ? [describeHeader("Idempotency-Key", key)] : []),
    ...(isStream ? [describeHeader("Last-Event-ID", "the id of the last event that was read")] : []),
  ];
}

function json(schema: object): Json {
  return { "application/json": { schema } };
}

/** Makes JSON Schema. Schemas with a name are in `named`, and referred to. */
function createSchemas() {
  const named: Json = {};
  const toSchema = (schema: z.ZodType, io: "input" | "output"): JsonSchema => {
    const { $schema: _, ...made } = z.toJSONSchema(schema, {
      ...{ io, unrepresentable: "any", reused: "inline" },
      override({ jsonSchema }) {
        // An answer may get more fields in a later version.
        if (io === "output" && jsonSchema.additionalProperties === false)
          delete jsonSchema.additionalProperties;
      },
    });
    const text = JSON.stringify(made).replaceAll('"#/$defs/', '"#/components/schemas/');
    const { $defs, ...own } = jsonSchema.parse(JSON.parse(text));
    Object.assign(named, $defs);
    return own;
  };
  return { named, toSchema };
}

type ToSchema = ReturnType<typeof createSchemas>["toSchema"];

interface JsonSchema {
  properties?: Record<string, unknown> | undefined;
  required?: string[] | undefined;
}

const jsonSchema = z.looseObject({
  $defs: z.record(z.string(), z.unknown()).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
});
