import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { reference, schemaPath } from "../../scripts/reference/reference.ts";
import { settingsSchema } from "../../src/config/schema.ts";
import { validateForEditors } from "./json-schema.ts";

const read = (path: string) => readFileSync(join(import.meta.dirname, "../..", path), "utf8");

describe("what is made from the schema", () => {
  test.each(Object.entries(reference()))("%s is current: npm run reference writes it anew", (path, text) => {
    expect(read(path)).toBe(text);
  });

  test("editors find the example valid, and describe every setting", () => {
    const example = read("heddle.example.yaml");
    expect(example.split("\n")[0]).toBe(`# yaml-language-server: $schema=${schemaPath}`);
    validateForEditors(parse(example));
    expect(validateForEditors.errors).toBeNull();
    expect(validateForEditors({ agent: { maxStep: 3 } })).toBe(false);
  });

  test("the example is valid and changes nothing", () => {
    expect(settingsSchema.parse(parse(read("heddle.example.yaml")))).toEqual(settingsSchema.parse({}));
  });
});
