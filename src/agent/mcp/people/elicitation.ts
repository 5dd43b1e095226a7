import { createHash } from "node:crypto";
import type { ElicitRequest, ElicitResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { removeHidden } from "../../text/hidden-characters.ts";
import type { InputStore } from "../../contracts/input-store.ts";
import { type InputField, inputFormats, type InputRequest, writeValue } from "../../server-input.ts";
import { cutText, toOneLine, toWellFormed } from "../../text/text.ts";

/** What a server asked during a call, which was told that nobody has answered. */
export type Unanswered = { id: string; request: InputRequest } | { problem: string };

/**
 * Answers a server's question with what its person has said to the same one before. Otherwise the server reads that
 * nobody has decided (`cancel`), so that its call ends and no worker waits, and the question is kept for
 * `answer_server`.
 */
export async function elicit(
  store: InputStore,
  { person, server, call }: { person: string; server: string; call: string },
  params: ElicitRequest["params"],
): Promise<{ result: ElicitResult; unanswered?: Unanswered }> {
  const request = readRequest({ server, call }, params);
  if ("problem" in request) return { result: { action: "cancel" }, unanswered: request };
  const id = nameRequest(request);
  const answer = await store.take(person, id);
  if (answer?.action === "decline") return { result: answer };
  if (answer) return { result: { action: "accept", ...(answer.content && { content: answer.content }) } };
  await store.keep(person, id, request);
  return { result: { action: "cancel" }, unanswered: { id, request } };
}

/**
 * The same for the same question in the same call: twelve hexadecimal digits. An address counts without what a server
 * may make anew each time.
 */
function nameRequest(request: InputRequest): string {
  const what = request.mode === "url" ? { ...request, url: new URL(request.url).origin } : request;
  return createHash("sha256").update(JSON.stringify(what)).digest("hex").slice(0, 12);
}

const mostFields = 10;
const mostOptions = 25;

const optionSchema = z.object({ const: z.string(), title: z.string().default("") });
const itemsSchema = z.object({
  enum: z.array(z.string()).optional(),
  anyOf: z.array(optionSchema).optional(),
});

/** The kinds of fields that the protocol has, in one form. */
const fieldSchema = z.object({
  type: z.enum(["string", "number", "integer", "boolean", "array"]),
  title: z.string().optional(),
  description: z.string().optional(),
  // https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation: no others count.
  format: z.enum(inputFormats).optional().catch(undefined),
  enum: z.array(z.string()).optional(),
  enumNames: z.array(z.string()).optional(),
  oneOf: z.array(optionSchema).optional(),
  items: itemsSchema.optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  minItems: z.number().optional(),
  maxItems: z.number().optional(),
  default: z.unknown().optional(),
});

function readRequest(
  basis: Pick<InputRequest, "server" | "call">,
  raw: ElicitRequest["params"],
): InputRequest | { problem: string } {
  const params = toWellFormed(raw);
  const message = cutText(removeHidden(params.message).trim(), 1_500);
  if (params.mode === "url") {
    const url = URL.parse(params.url);
    // https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#safe-url-handling
    const isSafe = url?.protocol === "https:" && !url.username && !url.password && url.href.length <= 2_000;
    return isSafe
      ? { ...basis, mode: "url", message, url: url.href }
      : { problem: "an address that is not shown to people" };
  }
  const { properties, required = [] } = params.requestedSchema;
  const fields = Object.entries(properties).map(([name, field]) =>
    readField(name, field, required.includes(name)),
  );
  const known = fields.filter((field) => field !== undefined);
  if (known.length !== fields.length || known.length > mostFields)
    return { problem: "a form that people cannot be shown" };
  // Servers must not ask for these by a form, which everybody in the thread may read.
  if (
    known.some(({ name, title }) =>
      /passw|secret|token|api.?key|credential|cvv|card.?number/i.test(`${name} ${title}`),
    )
  )
    return { problem: "a secret, which belongs into no chat" };
  return { ...basis, mode: "form", message, fields: known };
}

function readField(name: string, raw: unknown, required: boolean): InputField | undefined {
  const parsed = fieldSchema.safeParse(raw);
  if (!parsed.success || !/^[a-z][\w.-]{0,63}$/i.test(name)) return undefined;
  const { title = name, description, ...rest } = parsed.data;
  const options = listOptions(rest);
  if (options && (options.length === 0 || options.length > mostOptions)) return undefined;
  const kind = toKind(rest.type, options !== undefined);
  if (!kind) return undefined;
  const field: InputField = {
    ...{ name, kind, required, title: toPlain(title, 60) || name },
    ...(description !== undefined && { about: toPlain(description, 200) }),
    ...(kind === "text" && rest.format && { format: rest.format }),
    ...(options && { options }),
    ...readBounds(rest),
  };
  const usual = writeValue(field, rest.default);
  // People read it, so it must be what they read.
  return usual !== undefined && toPlain(usual, 200) === usual ? { ...field, default: usual } : field;
}

function readBounds(field: z.infer<typeof fieldSchema>): Pick<InputField, "least" | "most"> {
  const least = field.minLength ?? field.minimum ?? field.minItems;
  const most = field.maxLength ?? field.maximum ?? field.maxItems;
  return { ...(least !== undefined && { least }), ...(most !== undefined && { most }) };
}

/** Single and several choices, with titles of their own or without, and in the form of older servers. */
function listOptions({
  enum: values,
  enumNames = [],
  oneOf,
  items,
}: Pick<z.infer<typeof fieldSchema>, "enum" | "enumNames" | "oneOf" | "items">): InputField["options"] {
  const titled = (oneOf ?? items?.anyOf)?.map((option) => [option.const, option.title] as const);
  const plain = (values ?? items?.enum)?.map((value, index) => [value, enumNames[index] ?? ""] as const);
  return (titled ?? plain)?.map(([value, title]) => ({ value, title: toPlain(title, 60) || value }));
}

function toPlain(text: string, characters: number): string {
  return cutText(toOneLine(removeHidden(text)), characters);
}

function toKind(
  type: z.infer<typeof fieldSchema>["type"],
  hasOptions: boolean,
): InputField["kind"] | undefined {
  switch (type) {
    case "string":
      return hasOptions ? "one" : "text";
    case "array":
      return hasOptions ? "many" : undefined;
    case "boolean":
      return "yes-no";
    case "number":
    case "integer":
      return type;
  }
}
