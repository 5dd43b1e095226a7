import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fetchAll } from "./fetch-all.mjs";

test("results are in the order of the ids", async () => {
  const slowFirst = (id) => setTimeout(40 - 10 * id, `#${id}`);
  assert.deepEqual(await fetchAll([1, 2, 3], slowFirst), ["#1", "#2", "#3"]);
});
