import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openWebSite, type WebSite } from "../fakes/web-site.ts";
import { openReading } from "./reading.ts";

const publicAddress = "93.184.216.34";
let site: WebSite;

beforeEach(async () => {
  site = await openWebSite({
    "site.example": [[publicAddress]],
    "other.example": [[publicAddress]],
    "inside.example": [["10.0.0.7"]],
    "turning.example": [[publicAddress], ["127.0.0.1"]],
    "mapped.example": [["::ffff:10.0.0.1"]],
  });
});
afterEach(() => site.close());

test("a page is given as Markdown of its article, quoted, with address, links and time, and no picture", async () => {
  const { status, text } = await openReading(site).fetch("https://site.example/article");
  expect(status).toBe("ok");
  expect(text).toMatch(/^Address: https:\/\/site\.example\/article\nRead at \d{4}-\d\d-\d\d \d\d:\d\d UTC\./);
  expect(text).toContain("> # Weaving");
  expect(text).toContain("[looms](https://site.example/looms?kind=floor)");
  expect(text).toContain("[others](https://other.example/a_%28b%29)");
  expect(text).toContain("> ```js\n> const heddle = 1;\n> ```");
  expect(text).toContain("> | Loom | Shafts |\n> | --- | --- |\n> | Floor | 4\\|8 |");
  expect(text).not.toContain("evil.example");
  expect(text).not.toContain("Menu");
  expect(
    text
      .split("\n")
      .slice(3)
      .every((line) => line.startsWith("> ")),
  ).toBe(true);
});

test("nothing of Heddle's own goes along: no cookie, no credential, no referrer", async () => {
  await openReading(site).fetch("http://site.example/article");
  const [{ headers } = { headers: {} }] = site.requests;
  expect(Object.keys(headers).toSorted()).toEqual(["accept", "accept-encoding", "connection", "user-agent"]);
});

test("JSON, feeds and plain text are read as what they are", async () => {
  const { fetch } = openReading(site);
  expect((await fetch("http://site.example/json")).text).toContain('> {\n>   "looms": [');
  expect((await fetch("http://site.example/text")).text).toContain("> plain <b>words</b>");
  expect((await fetch("http://site.example/feed")).text).toContain(
    "> - [First](http://site.example/first) (Mon, 02 Nov 2026)\n>   Hello",
  );
});

test.each([
  ["latin1", "> naïve café"],
  ["wrong-charset", "it says that its charset is “klingon”, which there is not; it was read as UTF-8"],
  ["mislabelled", "characters are not utf-8, which the page says that it is written in, so they are lost"],
])("a page's charset is kept to, or it is said what is wrong with it: %s", async (path, said) => {
  expect((await openReading(site).fetch(`http://site.example/${path}`)).text).toContain(said);
});

test.each([
  ["nothing", "site.example answered that there is no content (204)."],
  ["busy", "site.example asks to be left alone for 30 s because it gets too many requests (429)."],
  ["gone", "site.example has no page at this address (404)."],
  ["private", "site.example does not show this page without signing in, or not to programs (401)."],
])("an answer without a page is told in one sentence: %s", async (path, said) => {
  const { status, text } = await openReading(site).fetch(`http://site.example/${path}`);
  expect(status).toBe("error");
  expect(text).toBe(`http://site.example/${path} was not read: ${said}`);
});

test.each([
  ["the metadata address", "http://169.254.169.254/latest", "169.254.169.254 is at a private address."],
  ["an IPv4 address within IPv6", "http://[::ffff:10.0.0.1]/", "::ffff:a00:1 is at a private address."],
  ["a name of the private network", "http://inside.example/", "inside.example is at a private address."],
  ["a name that maps to it", "http://mapped.example/", "mapped.example is at a private address."],
  [
    "another port",
    "http://site.example:8080/",
    "port 8080 of site.example is closed; only 80 and 443 are open.",
  ],
  ["another scheme", "file:///etc/passwd", "only addresses with http:// or https:// can be fetched."],
  ["a password", "http://ada:pw@site.example/", "it holds a name or a password, which is never sent."],
])("a redirect to %s is refused, and nothing there is dialled", async (_, to, said) => {
  const { fetch } = openReading(site);
  const { status, text } = await fetch(`http://site.example/?to=${encodeURIComponent(to)}`);
  expect(status).toBe("error");
  expect(text).toContain(said);
  expect(site.dialled).toEqual([`${publicAddress}:80`]);
});

test("redirects are followed, five at most", async () => {
  const chain = (hops: number): string =>
    hops === 0
      ? "http://other.example/text"
      : `http://site.example/?to=${encodeURIComponent(chain(hops - 1))}`;
  const { fetch } = openReading(site);
  const { text } = await fetch(chain(2));
  expect(text).toContain("Address: http://other.example/text");
  expect((await fetch(chain(6))).text).toContain("It redirects more than 5 times.");
});

test("a redirect may be written in the letters of its language", async () => {
  // On the wire they are bytes of UTF-8.
  const to = Buffer.from("http://site.example/says?text=größe").toString("latin1");
  const { text } = await openReading(site).fetch(`http://site.example/?to=${encodeURIComponent(to)}`);
  expect(text).toContain("> größe");
});

test("a name that is public first and private then is looked up once, and the address that was checked is dialled", async () => {
  const { fetch } = openReading(site, { rules: { hosts: ["turning.example"] } });
  expect((await fetch("http://turning.example/text")).status).toBe("ok");
  expect(site.resolved).toEqual(["turning.example"]);
  expect(site.dialled).toEqual([`${publicAddress}:80`]);
  expect((await fetch("http://turning.example/json")).text).toContain("is at a private address");
  expect(site.dialled).toHaveLength(1);
});

test.each(["endless", "bomb"])(
  "a page without an end is left at its limit, with flat memory and a free event loop: %s",
  async (path) => {
    const { fetch } = openReading(site);
    await fetch("http://site.example/text");
    const before = process.memoryUsage().rss;
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    const { text } = await fetch(`http://site.example/${path}`);
    delay.disable();
    expect(text).toContain("site.example sends more than 1 MB, which is the limit of a page.");
    expect(site.sent()).toBeLessThan(20 * 1_048_576);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1_048_576);
    // Promised are 100 ms, of a machine that has nothing else to do.
    expect(delay.max / 1e6).toBeLessThan(500);
  },
);

test.each(["drip", "silent"])("one deadline holds for the whole exchange: %s", async (path) => {
  const { fetch } = openReading(site, { limits: { deadlineMs: 200 } });
  expect((await fetch(`http://site.example/${path}`)).text).toContain(
    "site.example did not send the page within 0.2 s.",
  );
});

test("a page that is nested 20,000 deep is read as words, and costs no stack", async () => {
  const { text } = await openReading(site).fetch("http://site.example/deep");
  expect(text).toContain("nested more than 512 elements deep");
  expect(text).toContain("> bottom");
});

test("a long text is given in pieces, all of which can be read", async () => {
  const { fetch } = openReading(site);
  const first = (await fetch("http://site.example/long")).text;
  const [, pages] = /\(page 1 of (\d+); page: 2 shows the next/.exec(first) ?? [];
  expect(first).toContain("> line 0 ");
  const last = (await fetch("http://site.example/long", { page: Number(pages) })).text;
  expect(last).toContain("> line 3999 ");
  expect((await fetch("http://site.example/long", { page: 99 })).text).toContain("99 is past its end.");
});

test("a page is fetched once within minutes for one thread", async () => {
  let now = 0;
  const { fetch } = openReading(site, { options: { now: () => now } });
  await fetch("http://site.example/text");
  await fetch("http://site.example/text");
  expect(site.requests).toHaveLength(1);
  now = 61_000;
  await fetch("http://site.example/text");
  expect(site.requests).toHaveLength(2);
});

test("what a page takes counts with the bytes of the thread's day", async () => {
  const { fetch } = openReading(site, { limits: { bytesPerDay: 3_000 } });
  expect((await fetch("http://site.example/article")).status).toBe("ok");
  expect((await fetch("http://site.example/long")).text).toContain("has used up its bytes of today");
});

test("a file without a workspace to put it into is named as what it is", async () => {
  const { text } = await openReading(site).fetch("http://site.example/binary");
  expect(text).toBe(
    "http://site.example/binary is image/png, and there is no workspace here to put it into.",
  );
});

test("with listed, other hosts are refused before they are looked up, redirects included", async () => {
  const { fetch } = openReading(site, { rules: { fetch: "listed" } });
  expect((await fetch("http://site.example/text")).status).toBe("ok");
  expect((await fetch("http://other.example/text")).text).toBe(
    "DENIED: web_fetch was not run: other.example is not among the hosts that the operator lets web_fetch read here (site.example).",
  );
  const led = await fetch(`http://site.example/?to=${encodeURIComponent("http://other.example/text")}`);
  expect(led.text).toContain("other.example is not on the list of reachable hosts");
  expect(site.resolved).not.toContain("other.example");
});

test("where it is off there is no tool, and the model is told in a sentence whom to name", () => {
  const { web, dispatcher } = openReading(site, { rules: { fetch: "off" } });
  expect(dispatcher.definitions).toEqual([]);
  expect(web.describe("t")).toBe(
    "You cannot read web pages here: the operator has not switched that on (web.fetch in heddle.yaml). Say so in one sentence when a task needs it. You cannot search the web here: it needs web.search in heddle.yaml, which the operator has not set.",
  );
});
