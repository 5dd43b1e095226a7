import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { shot } from "../browser/chromium.ts";
import { freePort } from "../fakes/free-port.ts";
import { useBrowser, useSetting } from "./hooks.ts";
import { type ProviderSettings, startProvider } from "./open-id/start-provider.ts";
import { examine, patienceMs } from "./program.ts";

/** People of a provider of OpenID Connect at the console: the program as it is configured and started for them. */

const here = useSetting();
const chromium = useBrowser();
/** With characters that RFC 6749 (2.3.1) wants encoded in a header. */
const clientSecret = "s3cr:t/of a client+%";
const ada = { sub: "ada", email: "ada@example.com", email_verified: true, groups: ["heddle"] };

let port: number;
let address: string;
let settings: ProviderSettings;
let provider: AsyncDisposable;

/** As it is, but for these changes, and with other keys. */
async function restartProvider(changes: Partial<ProviderSettings>): Promise<void> {
  await provider[Symbol.asyncDispose]();
  provider = await startProvider({ ...settings, ...changes });
}

beforeEach(async () => {
  port = await freePort();
  address = `http://127.0.0.1:${port}`;
  settings = {
    port: await freePort(),
    client: {
      ...{ client_id: "heddle", client_secret: clientSecret },
      redirect_uris: [`${address}/sign-in/callback`],
      post_logout_redirect_uris: [`${address}/`],
    },
    person: ada,
  };
  provider = await startProvider(settings);
  const openIdConnect = {
    issuer: `http://localhost:${settings.port}`,
    ...{ clientId: "heddle", address, groups: { heddle: "member" } },
  };
  await writeFile(join(here.place.folder, "heddle.yaml"), JSON.stringify({ console: { openIdConnect } }));
});
afterEach(() => provider[Symbol.asyncDispose]());

const environment = () => ({
  REDIS_URL: here.redis.path,
  HEDDLE_PORT: String(port),
  HEDDLE_OPENID_CLIENT_SECRET: clientSecret,
});
const startGateway = async () => {
  const program = here.place.start(["start", "--role", "gateway"], environment());
  await program.line(/Heddle is ready/);
  return program;
};
const dialogOf = (page: Page) => page.getByRole("dialog", { name: "Sign in" });
const openPage = async (context: { newPage: BrowserContext["newPage"] } = chromium.browser) => {
  const page = await context.newPage();
  page.setDefaultTimeout(patienceMs);
  return page;
};
/** Goes to the provider, whose page it is then. */
const leave = (page: Page) => page.getByRole("link", { name: "Sign in with your account" }).click();
const agree = (page: Page) => page.getByRole("button", { name: "Sign in as ada" }).click();

describe("a person of the provider", () => {
  test("signs in, gives work under their own name, which the audit log has, and signs out", async () => {
    const program = here.place.start(["start"], environment());
    await program.line(/Heddle is ready/);
    const page = await openPage();
    const offences: string[] = [];
    page.on("console", (message) => {
      // The browser itself tells of the first answer, which asks for a sign-in.
      if (message.type() === "error" && !message.text().includes("401")) offences.push(message.text());
    });
    page.on("pageerror", (error) => offences.push(String(error)));

    await page.goto(`${address}/#/usage`);
    await dialogOf(page).waitFor();
    await shot(page, "sign-in-provider");
    await leave(page);
    await agree(page);
    // Where they were going.
    await page.getByRole("heading", { name: "Usage" }).waitFor();
    await page.getByText("ada@example.com (member)").waitFor();
    expect(new URL(page.url()).hash).toBe("#/usage");

    await page.goto(`${address}/#/`);
    await page.getByLabel("Message to Heddle").fill("What can you do here? Answer in five lines");
    await page.keyboard.press("Enter");
    await page.getByText("ada@example.com", { exact: true }).first().waitFor();
    await page.locator(".message.answer").first().waitFor();
    await page.reload();
    await page.locator(".message.answer").first().waitFor();

    await page.getByRole("button", { name: "Sign out" }).click();
    // By way of the provider, which has it end there, too.
    await page.getByRole("button", { name: "Yes, sign out" }).click();
    await dialogOf(page).waitFor();
    expect(new URL(page.url()).origin).toBe(address);
    await leave(page);
    await page.getByRole("heading", { name: "Who are you?" }).waitFor();
    expect(offences).toEqual([]);

    // Only then do entries come to an end.
    program.signal("SIGTERM");
    expect(await program.ended).toBe(0);
    const log = here.place.start(["audit", "export", "--names"], environment());
    expect(await log.ended).toBe(0);
    const entries = log
      .output()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line): { what: string; by?: { id: string } } => JSON.parse(line))
      .filter(({ by }) => by?.id === "@ada@example.com");
    expect(entries.map(({ what }) => what)).toEqual(expect.arrayContaining(["signed-in", "asked"]));
    expect(here.place.outputs()).not.toContain(clientSecret);
  });

  test("comes to where they were going at a second try too, whatever another tab was asked for", async () => {
    await startGateway();
    const context = await chromium.browser.newContext();
    const [page, other] = [await openPage(context), await openPage(context)];
    await page.goto(`${address}/#/usage`);
    await leave(page);
    await page.getByRole("heading", { name: "Who are you?" }).waitFor();
    await other.goto(`${address}/#/threads`);
    await leave(other);
    await other.getByRole("heading", { name: "Who are you?" }).waitFor();
    await agree(page);
    await dialogOf(page).getByText("begun in another window").waitFor();
    await leave(page);
    await page.getByRole("heading", { name: "Usage" }).waitFor();
    expect(new URL(page.url()).hash).toBe("#/usage");
    await context.close();
  });

  test("whom the settings do not know is told so, and one who does not want to", async () => {
    await restartProvider({ person: { ...ada, groups: ["strangers"] } });
    await startGateway();
    const page = await openPage();
    await page.goto(address);
    await leave(page);
    await page.getByRole("button", { name: "Cancel" }).click();
    await dialogOf(page).getByText("You were not signed in").waitFor();
    await leave(page);
    await agree(page);
    await dialogOf(page).getByText("have no role here").waitFor();
    expect(new URL(page.url()).hash).toBe("");
    // Whom it does not vouch for has no name here.
    await restartProvider({ person: { ...ada, email_verified: false } });
    const other = await openPage();
    await other.goto(address);
    await leave(other);
    await agree(other);
    await dialogOf(other).getByText("Heddle's log says why").waitFor();
    expect(here.place.outputs()).toContain("the provider has not verified the person's email");
  });
});

describe("a provider", () => {
  test("has other keys or another clock, and people sign in; far behind its tokens have expired", async () => {
    await startGateway();
    const signIn = async () => {
      // Of nobody who has signed in before.
      const context = await chromium.browser.newContext();
      const page = await openPage(context);
      await page.goto(address);
      await leave(page);
      await agree(page);
      return { page, [Symbol.asyncDispose]: () => context.close() };
    };
    const signedIn = ({ page }: { page: Page }) => page.getByText("ada@example.com (member)").waitFor();
    await using first = await signIn();
    await signedIn(first);
    await restartProvider({});
    await using second = await signIn();
    await signedIn(second);

    await restartProvider({ aheadMs: -10 * 60_000 });
    await using late = await signIn();
    await dialogOf(late.page).getByText("Heddle's log says why").waitFor();
    expect(here.place.outputs()).toContain("compare this host's clock with the provider's");
    await restartProvider({ aheadMs: 20 * 60_000 });
    await using early = await signIn();
    await signedIn(early);
  });

  const noAddress = "the provider's authorization_endpoint is no address of the web";
  test.each([
    ["another issuer", { issuer: "https://evil.example" }, "issuer does not match"],
    ["a script instead of an address for people", { authorization_endpoint: "javascript:1" }, noAddress],
    ["no address for people", { authorization_endpoint: "nowhere" }, noAddress],
  ])("that names %s is not gone to", async (_, metadata, why) => {
    await restartProvider({ metadata });
    await startGateway();
    const answer = await fetch(`${address}/sign-in`, { redirect: "manual" });
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/#sign-in=invalid"]);
    const page = await openPage();
    await page.goto(address);
    await leave(page);
    await dialogOf(page).getByText("Heddle's log says why").waitFor();
    const looked = await examine(() => here.place.start(["doctor"], environment()));
    expect(looked.output()).toMatch(/✗ console +nobody can sign in at http:\/\/localhost:\d+ \(/);
    expect(looked.output()).toContain(why);
  });
});

describe("a console with a provider", () => {
  test("starts on any address, and lets nobody in without a sign-in", async () => {
    const program = here.place.start(["start", "--role", "gateway"], {
      ...environment(),
      HEDDLE_HOST: "0.0.0.0",
    });
    await program.line(/Heddle is ready/);
    expect((await fetch(`${address}/api/v1/threads`)).status).toBe(401);
    expect((await fetch(`${address}/metrics`)).status).toBe(401);
    expect((await fetch(`${address}/healthz`)).status).toBe(200);
  });

  test("is looked at by doctor, with the address that the provider has to know", async () => {
    const examineWith = (env: Record<string, string> = {}) =>
      examine(() => here.place.start(["doctor"], { ...environment(), HEDDLE_HOST: "0.0.0.0", ...env }));
    const well = await examineWith();
    expect(well.output()).toMatch(/✓ console +0\.0\.0\.0:\d+ is free/);
    expect(well.output()).toContain(`which has to know the redirect URI ${address}/sign-in/callback`);
    const without = await examineWith({ HEDDLE_OPENID_CLIENT_SECRET: "" });
    expect(without.output()).toMatch(/✗ console .*set HEDDLE_OPENID_CLIENT_SECRET/);
  });

  test("does not start without the secret of its client", async () => {
    const program = here.place.start(["start"], { ...environment(), HEDDLE_OPENID_CLIENT_SECRET: "" });
    expect(await program.ended).not.toBe(0);
    expect(program.output()).toContain("set HEDDLE_OPENID_CLIENT_SECRET");
  });
});
