import assert from "node:assert/strict";
import { test } from "node:test";
import { invoiceLine } from "../invoice.mjs";
import * as money from "../money.mjs";
import { receiptLine } from "../receipt.mjs";

test("lines are as before", () => {
  assert.equal(typeof money.formatMoney, "function");
  assert.equal(invoiceLine({ what: "Tea", cents: 450 }), "Tea: 4.50 EUR");
  assert.equal(invoiceLine({ what: "Back", cents: -105 }), "Back: -1.05 EUR");
  assert.equal(receiptLine({ what: "Tea", cents: 7 }), "Tea 0.07 EUR");
  assert.equal(receiptLine({ what: "Back", cents: -105 }), "Back (1.05 EUR)");
});
