import { expect, test } from "vitest";
import { runAuditCommand } from "../../src/commands/audit.ts";

test("a file that cannot be written is refused in one sentence, before anything is opened", async () => {
  await expect(runAuditCommand("export", "/nowhere/log.jsonl", {})).rejects.toThrow(
    /^The log cannot be written to \/nowhere\/log\.jsonl \(ENOENT.*\): name another file\.$/,
  );
});
