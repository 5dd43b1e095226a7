import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { environmentSchema } from "../../src/config/environment.ts";

test(".env.example names every variable of the environment, and sets none", () => {
  const text = readFileSync(join(import.meta.dirname, "../../.env.example"), "utf8");
  const named = [...text.matchAll(/^#([A-Z_]+)=/gm)].map((match) => match[1]);
  expect(new Set(named)).toEqual(new Set(Object.keys(environmentSchema.shape)));
  expect(text).not.toMatch(/^[^#\n]/m);
});
