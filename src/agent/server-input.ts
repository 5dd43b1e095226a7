import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { toOneLine } from "./text/text.ts";

/** What an MCP server asks a person for in the middle of a call. Its words are untrusted. */
export type InputRequest = {
  /** The server's name in `mcp.json`. */
  server: string;
  message: string;
  /** Digest of the call's tool and arguments: an answer counts for no other call. */
  call: string;
} & (
  | { mode: "form"; fields: InputField[] }
  /** A page that the person opens; what is done there nobody else sees. */
  | { mode: "url"; url: string }
);

export interface InputField {
  name: string;
  /** For people. */
  title: string;
  about?: string;
  kind: "text" | "number" | "integer" | "yes-no" | "one" | "many";
  /** What a text must be, of those that the protocol names. */
  format?: InputFormat;
  /** What can be chosen, of `one` and `many`. */
  options?: { value: string; title: string }[];
  required: boolean;
  /** What counts as written where the person leaves it out. */
  default?: string;
  /** Of a number, or of a text's length. */
  least?: number;
  most?: number;
}

export const inputFormats = ["email", "uri", "date", "date-time"] as const;

export type InputFormat = (typeof inputFormats)[number];

export type InputValue = string | number | boolean | string[];

/** What a person has said to it, as the protocol tells the server. That nobody has decided yet is neither. */
export const inputAnswerSchema = z.discriminatedUnion("action", [
  z.object({
    action: z.literal("accept"),
    content: z
      .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]))
      .optional(),
  }),
  z.object({ action: z.literal("decline") }),
]);

export type InputAnswer = z.infer<typeof inputAnswerSchema>;

/** What can be chosen by a button: the values of the only field, where there are few. */
export function listInputChoices(request: InputRequest): { label: string; value: InputValue }[] {
  if (request.mode === "url" || request.fields.length !== 1) return [];
  const [field] = request.fields;
  if (field?.kind === "yes-no")
    return [
      { label: "Yes", value: true },
      { label: "No", value: false },
    ];
  const { options = [] } = field ?? {};
  // A message has five buttons, and one of them declines.
  return field?.kind === "one" && options.length <= 4
    ? options.map(({ title, value }) => ({ label: title, value }))
    : [];
}

/**
 * Reads what a person has written into a form: the value of the only field, or a line `name: value` for each. `problem`
 * is for the person.
 */
export function parseForm(
  fields: readonly InputField[],
  text: string,
): { content: Record<string, InputValue> } | { problem: string } {
  const [only] = fields;
  const written = new Map<string, string>();
  if (only && fields.length === 1) written.set(only.name, text.trim());
  else
    for (const line of text.split("\n").filter((each) => each.trim() !== "")) {
      const [label = "", ...rest] = line.split(":");
      const named = label.trim().toLowerCase();
      const field = fields.find(
        ({ name, title }) => name.toLowerCase() === named || title.toLowerCase() === named,
      );
      if (!field || rest.length === 0)
        return { problem: `“${toOneLine(line).slice(0, 60)}”: write a line “name: value” for each field.` };
      written.set(field.name, rest.join(":").trim());
    }
  const content: Record<string, InputValue> = {};
  for (const field of fields) {
    const value = written.get(field.name) || (field.default ?? "");
    if (value === "" && !field.required) continue;
    const read = value === "" ? undefined : readValue(field, value);
    if (read === undefined) return { problem: `${field.title}: expected ${describeExpected(field)}.` };
    content[field.name] = read;
  }
  return { content };
}

const writtenText = z.string().max(4_000);

/**
 * What was put into the inputs of a form, by name: a text, or which options were chosen, by their numbers; programs give
 * the values themselves. No platform has longer texts, and no form more options.
 */
export const writtenFieldsSchema = z.record(
  z.string().max(64),
  z.union([
    writtenText,
    z.number(),
    z.boolean(),
    z.array(writtenText).max(25),
    z.array(z.int()).max(25).describe("numbers of its options, from 0"),
  ]),
);

export type WrittenFields = z.infer<typeof writtenFieldsSchema>;

/** What can be chosen in an input; nothing where it is written. */
export function listFieldOptions({ kind, options = [] }: InputField): { value: string; title: string }[] {
  return kind === "yes-no"
    ? [
        { value: "yes", title: "Yes" },
        { value: "no", title: "No" },
      ]
    : options.map(({ value, title }) => ({ value, title: title || "(empty)" }));
}

/** The numbers of the options that are chosen unless the person chooses others. */
export function findDefaultOptions(field: InputField): number[] {
  if (field.default === undefined) return [];
  const value = readValue(field, field.default);
  const chosen = value === true ? ["yes"] : value === false ? ["no"] : [value].flat();
  return listFieldOptions(field).flatMap((option, index) => (chosen.includes(option.value) ? [index] : []));
}

/** What an input begins with that takes so many characters; a platform refuses one that begins with more. */
export function findInitialText({ default: text = "" }: InputField, most: number): string | undefined {
  return text !== "" && text.length <= most ? text : undefined;
}

/** Reads what a person has put into inputs, which showed the defaults. `problem` is for the person, about `field`. */
export function readFields(
  fields: readonly InputField[],
  written: WrittenFields,
): { content: Record<string, InputValue> } | { problem: string; field: string } {
  const content: Record<string, InputValue> = {};
  for (const field of fields) {
    const put = written[field.name] ?? "";
    const isEmpty = Array.isArray(put) ? put.length === 0 : typeof put === "string" && put.trim() === "";
    if (isEmpty && !field.required) continue;
    const value = isEmpty ? undefined : readPut(field, put);
    if (value === undefined)
      return { problem: `${field.title}: expected ${describeKind(field)}.`, field: field.name };
    content[field.name] = value;
  }
  return { content };
}

function readPut(field: InputField, put: WrittenFields[string]): InputValue | undefined {
  if (typeof put === "string") return readValue(field, put.trim());
  const isNumber = field.kind === "number" || field.kind === "integer";
  if (typeof put === "number") return isNumber ? readValue(field, String(put)) : undefined;
  if (typeof put === "boolean") return field.kind === "yes-no" ? put : undefined;
  return readChosen(field, put);
}

function readChosen(field: InputField, put: readonly (string | number)[]): InputValue | undefined {
  const options = listFieldOptions(field);
  const chosen = put.flatMap(
    (one) =>
      (typeof one === "number" ? options[one] : options.find(({ value }) => value === one))?.value ?? [],
  );
  if (chosen.length < put.length) return undefined;
  const [one, ...others] = chosen;
  const { kind, least = 0, most = Infinity } = field;
  if (kind === "many") return chosen.length >= least && chosen.length <= most ? chosen : undefined;
  if (one === undefined || others.length > 0) return undefined;
  return kind === "yes-no" ? one === "yes" : one;
}

/** What a person would write for that value; undefined where the field cannot have it. */
export function writeValue(field: InputField, value: unknown): string | undefined {
  const titleOf = (one: unknown) => field.options?.find((option) => option.value === one)?.title;
  const text =
    field.kind === "yes-no"
      ? { true: "yes", false: "no" }[String(value)]
      : field.options
        ? [value].flat().map(titleOf).join(", ")
        : String(value);
  const isOne = value !== undefined && text !== undefined && isDeepStrictEqual(readValue(field, text), value);
  return isOne ? text : undefined;
}

function readValue(
  { kind, format, options = [], least, most }: InputField,
  text: string,
): InputValue | undefined {
  const isWithin = (size: number) => size >= (least ?? -Infinity) && size <= (most ?? Infinity);
  const choose = (said: string) =>
    options.find(
      ({ value, title }) => value === said.trim() || title.toLowerCase() === said.trim().toLowerCase(),
    )?.value;
  switch (kind) {
    case "text":
      return isWithin(text.length) && (!format || hasFormat(text, format)) ? text : undefined;
    case "number":
    case "integer": {
      const number = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
      const isFine = kind === "number" ? Number.isFinite(number) : Number.isSafeInteger(number);
      return isFine && isWithin(number) ? number : undefined;
    }
    case "yes-no":
      return /^(y|yes|true)$/i.test(text) ? true : /^(n|no|false)$/i.test(text) ? false : undefined;
    case "one":
      return choose(text);
    case "many": {
      const chosen = text.split(",").map(choose);
      const known = chosen.filter((value) => value !== undefined);
      return known.length === chosen.length && isWithin(known.length) ? [...new Set(known)] : undefined;
    }
  }
}

function hasFormat(text: string, format: InputFormat): boolean {
  switch (format) {
    case "email":
      return z.email().safeParse(text).success;
    case "uri":
      return URL.canParse(text);
    case "date":
      return z.iso.date().safeParse(text).success;
    case "date-time":
      return z.iso.datetime({ offset: true }).safeParse(text).success;
  }
}

const formatNames: Record<InputFormat, string> = {
  email: "an e-mail address",
  uri: "an address, such as https://example.com",
  date: "a date, such as 2026-12-31",
  "date-time": "a day and time, such as 2026-12-31T14:30:00Z",
};

/** What can be written into a field, for people. */
export function describeExpected(field: InputField): string {
  const kind = describeKind(field);
  return field.default === undefined ? kind : `${kind}; ${field.default} if you leave it out`;
}

/** What can be put into a field, for people. */
export function describeKind({ kind, format, options = [], least, most }: InputField): string {
  const titles = options.map(({ title }) => title).join(", ");
  const range =
    least !== undefined && most !== undefined
      ? ` from ${least} to ${most}`
      : least !== undefined
        ? ` of at least ${least}`
        : most !== undefined
          ? ` of at most ${most}`
          : "";
  switch (kind) {
    case "text":
      return format ? formatNames[format] : `a text${range && `${range} characters`}`;
    case "number":
      return `a number${range}`;
    case "integer":
      return `a whole number${range}`;
    case "yes-no":
      return "yes or no";
    case "one":
      return `one of ${titles}`;
    case "many":
      return `some of ${titles}, with commas between them`;
  }
}
