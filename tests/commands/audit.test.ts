import { expect, test } from "vitest";
import { runAuditCommand } from "../../src/commands/audit.ts";

test("a file that cannot be written is refused in one sentence, before anything is opened", async () => {
  await expect(runAuditCommand("export", "/nowhere/log.jsonl", {})).rejects.toThrow(
    /^Nothing can be written to \/nowhere\/log\.jsonl \(ENOENT.*\): name another file\.$/,
  );
});

test.each([
  ["--since", { since: "yesterday" }],
  ["--until", { until: "2026-13-01" }],
  ["--until", { until: "2026-02-29" }],
] as const)("a day that is none is refused before anything is opened: %s", async (option, days) => {
  const day = Object.values(days)[0];
  await expect(runAuditCommand("show", undefined, days)).rejects.toThrow(
    `${option} ${day}: expected a day as 2026-06-01.`,
  );
});
