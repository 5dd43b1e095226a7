import { expect, onTestFinished, test } from "vitest";
import { leaveOutAttached, noteAttached } from "../../../src/app/turns/attached-files.ts";
import { createUnconfinedBackend } from "../../../src/sandbox/plain/backend.ts";
import { dataFolder } from "../../sandbox/two-threads.ts";

test("What people have sent is no change of the turn's, until the turn changes it", async () => {
  const backend = createUnconfinedBackend({ dataDir: dataFolder() });
  onTestFinished(() => backend.close());
  const sandbox = await backend.open("memory:w:c:t");
  const files = new Map<string, string>();
  const receiving = noteAttached(sandbox, files);
  for (const name of ["kept", "edited", "removed"])
    await receiving.writeFile(`attachments/${name}`, Buffer.from("as sent"));
  await sandbox.writeFile("own", Buffer.from("as sent"));
  await sandbox.writeFile("attachments/edited", Buffer.from("and more"));
  await sandbox.exec({ command: "rm attachments/removed" });
  const changed = ["attachments/kept", "attachments/edited", "attachments/removed", "own"];
  expect(await leaveOutAttached(sandbox, files, changed)).toEqual(changed.slice(1));
  expect(await leaveOutAttached(sandbox, undefined, changed)).toEqual(changed);
});
