import assert from "node:assert/strict";
import { test } from "node:test";
import { findLinks } from "../links.mjs";

test("links", () => {
  assert.deepEqual(findLinks("[a](x.md)"), ["x.md"]);
  assert.deepEqual(findLinks("[a](x.md) and [b](y.md)"), ["x.md", "y.md"]);
  assert.deepEqual(findLinks("![picture](p.png) and [b](y.md)"), ["y.md"]);
  assert.deepEqual(findLinks('[a](x.md "A title") (and this)'), ["x.md"]);
  assert.deepEqual(findLinks("[a](w/x_(y).md) [b](z.md)"), ["w/x_(y).md", "z.md"]);
  assert.deepEqual(findLinks("(no link) [at all]"), []);
  assert.deepEqual(findLinks("([a](x.md))"), ["x.md"]);
});
