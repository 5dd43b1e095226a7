import assert from "node:assert/strict";
import { test } from "node:test";
import { totalOf } from "./order.mjs";

const items = [{ price: 1000, count: 2 }];

test("without a code the whole price is due", () => assert.equal(totalOf(items), 2000));
test("a code takes its per cent off", () => assert.equal(totalOf(items, "SPRING"), 1800));
test("cents stay whole", () => assert.equal(totalOf([{ price: 999, count: 1 }], "SPRING"), 899));
