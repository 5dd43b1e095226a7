import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newPlace, patienceMs } from "./program.ts";

/** Notes each file that a process of the program loads. */
const noting = `
import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";
registerHooks({
  load(url, context, next) {
    appendFileSync(process.env.LOADED, url + "\\n");
    return next(url, context);
  },
});
`;

test("Start without a platform or model: their libraries are not loaded", {
  timeout: patienceMs,
}, async () => {
  const place = await newPlace();
  try {
    const hook = join(place.folder, "note.mjs");
    const loaded = join(place.folder, "loaded");
    await writeFile(hook, noting);
    const program = place.start(["start"], {
      HEDDLE_MODEL: "demo",
      HEDDLE_PORT: "0",
      LOADED: loaded,
      NODE_OPTIONS: `--import=${hook}`,
    });
    await program.line(/Heddle is ready/);

    const files = await readFile(loaded, "utf8");
    expect(files).toContain("/src/app/gateway.ts");
    const libraries = [...files.matchAll(/\/node_modules\/((?:@[^/]+\/)?[^/]+)/g)].map(([, name]) => name);
    const unneeded = [
      ...["discord.js", "@slack/bolt", "@slack/web-api", "openai", "@anthropic-ai/sdk"],
      ...["@modelcontextprotocol/sdk", "linkedom", "@mozilla/readability", "js-tiktoken", "markdown-it"],
    ];
    expect(unneeded.filter((name) => libraries.includes(name))).toEqual([]);
    program.signal("SIGTERM");
    expect(await program.ended).toBe(0);
  } finally {
    await place.clean();
  }
});
