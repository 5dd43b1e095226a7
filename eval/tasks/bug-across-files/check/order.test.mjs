import assert from "node:assert/strict";
import { test } from "node:test";
import { totalOf } from "../order.mjs";

test("codes", () => {
  assert.equal(totalOf([{ price: 1000, count: 2 }]), 2000);
  assert.equal(totalOf([{ price: 1000, count: 2 }], "SPRING"), 1800);
  assert.equal(totalOf([{ price: 1000, count: 2 }], "STAFF"), 1300);
  assert.equal(totalOf([{ price: 999, count: 1 }], "SPRING"), 899);
  assert.equal(totalOf([{ price: 999, count: 1 }], "NONE"), 999);
});
