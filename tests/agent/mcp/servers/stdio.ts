import { existsSync, writeFileSync } from "node:fs";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { createFixtureServer } from "./fixture.ts";
import type { FixtureOptions } from "./fixture.ts";

// A process of its own. What it does is said by two variables: FIXTURE (JSON) and MARK (a file that outlives it).
interface ProcessFixture extends FixtureOptions {
  start?: "silent" | "crash";
  /** Goes on when its input ends and when it is asked to terminate. */
  stubborn?: boolean;
}
const fixture: ProcessFixture = JSON.parse(process.env["FIXTURE"] ?? "{}");

if (fixture.start === "crash") {
  console.error(`config error: no such database (password ${process.env["DB_PASSWORD"]})`);
  process.exit(3);
}
console.error(`pid ${process.pid}`);
console.log("this line is a stray log and no message");
if (fixture.stubborn) process.on("SIGTERM", () => {});
if (fixture.stubborn) setInterval(() => {}, 1000);
if (fixture.start === "silent") {
  process.stdin.resume();
} else {
  const mark = process.env["MARK"] ?? "";
  const server = createFixtureServer({
    ...fixture,
    crash() {
      console.error("Segmentation fault (pretended)");
      process.exit(9);
    },
    isFirstCrash() {
      const first = !existsSync(mark);
      writeFileSync(mark, "");
      return first;
    },
  });
  await server.connect(new StdioServerTransport());
}
