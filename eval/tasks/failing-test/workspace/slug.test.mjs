import assert from "node:assert/strict";
import { test } from "node:test";
import { slugOf } from "./slug.mjs";

test("words are joined", () => assert.equal(slugOf("Hello, World"), "hello-world"));
test("accents go", () => assert.equal(slugOf("Crème brûlée"), "creme-brulee"));
test("no hyphen stands at an end", () => assert.equal(slugOf("  What? "), "what"));
