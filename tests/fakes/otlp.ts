/** A stand-in for an OpenTelemetry collector: OTLP over HTTP with JSON (https://opentelemetry.io/docs/specs/otlp/). */
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { z } from "zod";
import { closeServer, listen } from "./listen.ts";

const valueSchema = z.union([
  z.object({ stringValue: z.string() }).transform(({ stringValue }) => stringValue),
  z.object({ intValue: z.coerce.number() }).transform(({ intValue }) => intValue),
  z.object({ doubleValue: z.number() }).transform(({ doubleValue }) => doubleValue),
  z.object({ boolValue: z.boolean() }).transform(({ boolValue }) => boolValue),
  z.object({ arrayValue: z.unknown() }).transform(({ arrayValue }) => JSON.stringify(arrayValue)),
]);
const attributesSchema = z
  .array(z.object({ key: z.string(), value: valueSchema }))
  .default([])
  .transform((list) => Object.fromEntries(list.map(({ key, value }) => [key, value])));
const spanSchema = z.object({
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  spanId: z.string().regex(/^[0-9a-f]{16}$/),
  parentSpanId: z.string().optional(),
  name: z.string(),
  attributes: attributesSchema,
  links: z.array(z.object({ traceId: z.string() })).default([]),
  startTimeUnixNano: z.string(),
  endTimeUnixNano: z.string(),
  status: z.object({ code: z.number() }),
});
const bodySchema = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: attributesSchema }),
      scopeSpans: z.array(z.object({ spans: z.array(spanSchema) })),
    }),
  ),
});

export type ReceivedSpan = z.infer<typeof spanSchema> & { resource: Record<string, unknown> };

export async function startCollector(options: { authorization: string }) {
  const spans: ReceivedSpan[] = [];
  /** The bodies as they came. */
  const bodies: string[] = [];
  const waiters = new Set<() => void>();
  const server = createServer((request, response) => {
    const refuse = (status: number) => void response.writeHead(status).end();
    if (request.method !== "POST" || request.url !== "/v1/traces") return refuse(404);
    if (request.headers["content-type"] !== "application/json") return refuse(415);
    if (request.headers.authorization !== options.authorization) return refuse(401);
    void json(request).then((body) => {
      bodies.push(JSON.stringify(body));
      for (const { resource, scopeSpans } of bodySchema.parse(body).resourceSpans) {
        for (const scope of scopeSpans) {
          spans.push(...scope.spans.map((span) => ({ ...span, resource: resource.attributes })));
        }
      }
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
      for (const check of waiters) check();
    });
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    bodies,
    /** Resolves when the spans are such. */
    until: (condition: () => boolean) =>
      new Promise<void>((resolve) => {
        const check = () => {
          if (!condition()) return;
          waiters.delete(check);
          resolve();
        };
        waiters.add(check);
        check();
      }),
    async close() {
      await closeServer(server);
    },
  };
}
