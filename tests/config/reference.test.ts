import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { reference } from "../../scripts/reference/reference.ts";
import { settingsSchema } from "../../src/config/schema.ts";

const read = (path: string) => readFileSync(join(import.meta.dirname, "../..", path), "utf8");

describe("what is made from the schema", () => {
  test.each(Object.entries(reference()))("%s is current: npm run reference writes it anew", (path, text) => {
    expect(read(path)).toBe(text);
  });

  test("the example is valid and changes nothing", () => {
    expect(settingsSchema.parse(parse(read("heddle.example.yaml")))).toEqual(settingsSchema.parse({}));
  });
});
