import assert from "node:assert/strict";
import { test } from "node:test";
import { slugOf } from "../slug.mjs";

test("slugs", () => {
  assert.equal(slugOf("Hello, World"), "hello-world");
  assert.equal(slugOf("Crème brûlée"), "creme-brulee");
  assert.equal(slugOf("  What? "), "what");
  assert.equal(slugOf("-- a -- b --"), "a-b");
  assert.equal(slugOf("???"), "");
});
