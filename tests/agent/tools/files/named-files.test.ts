import { expect, test } from "vitest";
import { listPaths } from "../../../../src/agent/tools/files/named-files.ts";

test("The words of a here-document do not crowd out the script behind it", () => {
  const words = Array.from({ length: 500 }, (_, n) => `word${n}`).join(" ");
  const paths = listPaths(`cat > notes <<END\n${words}\nEND\nsh deploy.sh; sh tools/next`);
  expect(paths).toHaveLength(64);
  expect(paths).toEqual(expect.arrayContaining(["deploy.sh", "tools/next"]));
});
