import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startHttpFixture } from "../../agent/mcp/servers/http.ts";
import { freePort } from "../../fakes/free-port.ts";
import { startFakeOAuth } from "../../fakes/oauth.ts";
import { useSetting } from "../hooks.ts";

const here = useSetting();
const heddle = (args: string[]) => here.place.start(args, { REDIS_URL: here.redis.path });

test("heddle mcp login signs the installation in, and logout out again, without a token on the screen", async () => {
  const fixture = await startHttpFixture("http");
  onTestFinished(() => fixture.stop());
  const oauth = await startFakeOAuth({ upstream: fixture.url });
  onTestFinished(() => oauth.close());
  const servers = { notes: { url: oauth.mcp, signIn: true }, plain: { url: fixture.url } };
  await writeFile(join(here.place.folder, "mcp.json"), JSON.stringify({ mcpServers: servers }));

  const port = await freePort();
  const login = heddle(["mcp", "login", "notes", "--port", String(port)]);
  const address = (await login.line(/\/authorize\?/)).trim();
  expect((await fetch(`http://127.0.0.1:${port}/elsewhere`)).status).toBe(404);
  // Any page that the browser shows can ask for this.
  for (const forged of ["?code=c&state=another", "?error=access_denied", ""])
    expect((await fetch(`http://127.0.0.1:${port}/callback${forged}`)).status).toBe(400);
  const page = await fetch(await oauth.agree(address));
  expect(await page.text()).toContain("Heddle has the answer");
  expect(await login.ended).toBe(0);
  expect(login.output()).toContain("Signed in to notes (notes).");

  const list = heddle(["mcp", "list"]);
  expect(await list.ended).toBe(0);
  expect(list.output()).toMatch(/^notes {2}127\.0\.0\.1:\d+ {2}signed in$/m);
  const doctor = heddle(["doctor"]);
  await doctor.ended;
  expect(doctor.output()).toMatch(/✓ mcp {7}notes: ready, \d+ tools/);
  const [logout, wrong] = [heddle(["mcp", "logout", "notes"]), heddle(["mcp", "login", "plain"])];
  expect(await logout.ended).toBe(0);
  expect(logout.output()).toContain("Signed out of notes.");
  expect(await wrong.ended).toBe(2);
  expect(wrong.output()).toContain('Put "signIn": true into the entry of plain in');
  for (const { output } of [login, list, doctor, logout])
    for (const token of oauth.tokens) expect(output()).not.toContain(token);
});
