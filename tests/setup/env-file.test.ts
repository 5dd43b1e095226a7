import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { changeEnvFile, editEnv } from "../../src/setup/env-file.ts";
import { newFolder } from "./at-terminal.ts";

test("a variable is changed where it stands, and comments, other lines and their order stay", () => {
  const before = "# mine\nexport A=1 # one\nSECRET='a\nb'\n\nB=\"x\" # two\n";
  expect(editEnv(before, { A: "2", C: "new value", B: undefined })).toBe(
    "# mine\nA=2\nSECRET='a\nb'\n\nC='new value'\n",
  );
});

test("line ends of Windows stay, and a missing one at the end is added first", () => {
  expect(editEnv("A=1\r\nB=2", { B: "3", C: "4" })).toBe("A=1\r\nB=3\r\nC=4\r\n");
});

test("a name that stands twice stands once", () => {
  expect(parseEnv(editEnv("A=1\nB=2\nA=3\n", { A: "4" }))).toEqual({ A: "4", B: "2" });
});

test("a file in which a name also stands inside another value is left alone", () => {
  expect(() => editEnv("A='\nB=1\n'\n", { B: "2" })).toThrow(/cannot be edited safely/);
});

test("whatever is stored is read back", () => {
  const value = fc.stringMatching(/^[ -&(-~]*$/);
  fc.assert(
    fc.property(value, value, (first, second) => {
      const text = editEnv(editEnv("", { A: first }), { B: second });
      expect(parseEnv(text)).toEqual({ A: first, B: second });
    }),
    { numRuns: 100 },
  );
});

test("the file is made for its owner alone, and one that others could read is closed and named", async () => {
  const path = join(newFolder(), ".env");
  expect(await changeEnvFile(path, { A: "1" })).toBeUndefined();
  expect(statSync(path).mode & 0o777).toBe(0o600);
  chmodSync(path, 0o644);
  expect(await changeEnvFile(path, { A: "2" })).toMatch(/could be read by other users/);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("a link to the file stays one, and nothing is left beside", async () => {
  const folder = newFolder();
  mkdirSync(join(folder, "elsewhere"));
  writeFileSync(join(folder, "elsewhere", "env"), "A=1\n");
  symlinkSync("elsewhere/env", join(folder, ".env"));
  await changeEnvFile(join(folder, ".env"), { A: "2" });
  expect(readFileSync(join(folder, "elsewhere", "env"), "utf8")).toBe("A=2\n");
  expect(readdirSync(folder)).toEqual([".env", "elsewhere"]);
  expect(readdirSync(join(folder, "elsewhere"))).toEqual(["env"]);
});
