import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fetchAll } from "../fetch-all.mjs";

test("order, however long it takes", async () => {
  assert.deepEqual(await fetchAll([1, 2, 3, 4], (id) => setTimeout(200 - 40 * id, id)), [1, 2, 3, 4]);
  assert.deepEqual(await fetchAll([], () => 1), []);
});
test("three at a time", async () => {
  let running = 0;
  let most = 0;
  await fetchAll([1, 2, 3, 4, 5, 6, 7], async () => {
    running += 1;
    most = Math.max(most, running);
    await setTimeout(10);
    running -= 1;
  });
  assert.equal(most, 3);
});
test("an error rejects", async () => {
  const failing = async (id) => {
    if (id === 2) throw new Error("no two");
    return id;
  };
  await assert.rejects(fetchAll([1, 2, 3, 4, 5], failing), /no two/);
});
