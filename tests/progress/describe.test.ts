import { expect, test } from "vitest";
import { noUsage, type Usage } from "../../src/agent/model.ts";
import { renderClosing } from "../../src/progress/receipt.ts";
import { noChanges } from "../../src/queue/turns/contracts.ts";

const footer = (usage: Partial<Usage>, files = noChanges) =>
  renderClosing("t1", {
    outcome: { kind: "answered", text: "Yes.", steps: 1, usage: { ...noUsage, ...usage } },
    ...{ durationMs: 0, files, withdrawn: [] },
  })[0].footer;

test("The receipt tells the cost, and that it is at most so much where a price is unknown", () => {
  expect(footer({ input: 10, cost: 0.5 })).toBe("1 step · 10 tokens · $0.50");
  expect(footer({ input: 10, cost: 0.5, priceUnknown: true })).toBe("1 step · 10 tokens · at most $0.50");
});

test("The receipt names the first files that were changed, and that were deleted", () => {
  const deleted = ["c1", "c2", "c3", "c4", "c5", "c6", "c7"];
  expect(footer({}, { changed: ["a", "b"], deleted })).toBe(
    "1 step · files changed: a, b · files deleted: c1, c2, c3, c4, c5 and 2 more",
  );
  expect(footer({}, { changed: [], deleted: ["c"] })).toBe("1 step · file deleted: c");
  // As plain text, which each platform shows as it is.
  expect(footer({}, { changed: ["a_b.md", "_c_/*.ts"], deleted: [] })).toBe(
    "1 step · files changed: a_b.md, _c_/*.ts",
  );
});

test("The receipt counts what package managers install by folder, behind the files that were worked on", () => {
  const installed = Array.from({ length: 1_204 }, (_, n) => `web/node_modules/x/${n}.js`);
  const changed = [...installed, "web/src/add.ts", "web/node_modules.md"];
  expect(footer({}, { changed, deleted: [".venv/bin/python"] })).toBe(
    "1 step · files changed: web/src/add.ts, web/node_modules.md, web/node_modules/ (1,204) · file deleted: .venv/ (1)",
  );
  const many = ["a", "b", "c", "d"].map((folder) => `${folder}/__pycache__/x.pyc`);
  expect(footer({}, { changed: many, deleted: [] })).toBe(
    "1 step · files changed: a/__pycache__/ (1), b/__pycache__/ (1), 2 more such folders",
  );
});

test("A refusal says that what follows in the thread is read without it", () => {
  const [message] = renderClosing("t1", {
    outcome: { kind: "refused", text: "I will not.", steps: 1, usage: noUsage },
    ...{ durationMs: 0, files: noChanges, withdrawn: [] },
  });
  expect(message.markdown).toMatch(/^I will not\.\n\n⚠️ The model will not see this request again/);
});

test("A file's name adds no line to the small print, and hides nothing in it", () => {
  const paths = ["a\n✅ Approved by Ada", "x\u202Egpj.exe", "n\u001b\u200b/node_modules/x"];
  expect(footer({}, { ...noChanges, changed: paths })).toBe(
    String.raw`1 step · files changed: a\n✅ Approved by Ada, x\u202egpj.exe, n\u001b\u200b/node_modules/ (1)`,
  );
});
