import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "../..");
const page = join(root, "docs/security.md");

/** What docs/security.md says that somebody who tries cannot do, and the test files that try it. */
export interface Claim {
  text: string;
  files: string[];
}

/** Reads the rows of the page's table of claims. */
export function readClaims(): Claim[] {
  const [, table = ""] = /^## Claims and their tests\n([\s\S]*?)^## /m.exec(readFileSync(page, "utf8")) ?? [];
  return [...table.matchAll(/^\| (.+?) \| (.+) \|$/gm)].flatMap(([, text = "", tests = ""]) => {
    const files = [...tests.matchAll(/`(tests\/[^`]+)`/g)].map(([, file = ""]) => file);
    return files.length > 0 ? [{ text, files }] : [];
  });
}
