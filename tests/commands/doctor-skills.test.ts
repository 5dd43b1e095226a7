import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkSkills } from "../../src/commands/doctor/skills.ts";
import { loadConfig } from "../../src/config/load.ts";
import { dataFolder } from "../sandbox/two-threads.ts";

/** Writes skills with these scripts, and gives what doctor says of them. */
function check(skills: Record<string, Record<string, string>>) {
  const folder = dataFolder();
  for (const [name, scripts] of Object.entries(skills)) {
    mkdirSync(join(folder, name, "scripts/inner"), { recursive: true });
    writeFileSync(join(folder, name, "SKILL.md"), `---\nname: ${name}\ndescription: d\n---\nRun it.\n`);
    for (const [path, text] of Object.entries(scripts))
      writeFileSync(join(folder, name, "scripts", path), text);
  }
  const config = loadConfig({}, "/nowhere");
  config.settings.skills.folders = [folder];
  return checkSkills({ config }, new AbortController().signal);
}

test.skipIf(!existsSync("/usr/bin/python3"))(
  "Python modules that scripts of skills import and sandboxes lack are named, with the skills",
  async () => {
    const findings = await check({
      forms: {
        "fill.py":
          '#!/usr/bin/env python3\n"""Reads\nfrom a form\nimport data into it\nImport pages\n"""\nfrom __future__ import annotations\nimport json, heddle_no_pdf.reader as reader  # the form\nfrom heddle_no_image.draw import Draw\nimport fields\nfrom inner.more import all\nfrom . import fields\n',
        "fields.py": "import os.path\ntry:\n    import heddle_no_faster\nexcept ImportError:\n    pass\n",
        "inner/more.py": "import heddle_no_pdf; all = 1\n",
        "notes.txt": "import heddle_no_text\n",
      },
      slides: { "make.py": "import heddle_no_image\r\nprint(1)\r\n" },
    });
    expect(findings).toEqual([
      { level: "ok", text: "forms, slides" },
      {
        level: "warning",
        text: expect.stringContaining(
          "import: heddle_no_pdf (forms), heddle_no_image (forms, slides). Install",
        ),
      },
    ]);
  },
);

test("Nothing is said of skills whose scripts have all that they import", async () => {
  expect(await check({ forms: { "fill.py": "import json\nfrom os import path\n" }, plain: {} })).toEqual([
    { level: "ok", text: "forms, plain" },
  ]);
});
