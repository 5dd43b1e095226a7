import { existsSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { workspaces } from "../agent/tools/workspace.ts";
import { countAttacks } from "../attacks.ts";
import { pdfBomb } from "../fakes/hostile-pages.ts";
import { openWebSite, type WebSite } from "../fakes/web-site.ts";
import { openReading } from "./reading.ts";

/** What servers and addresses of the web do to whoever reads them. */

const publicAddress = "93.184.216.34";
const newWorkspace = workspaces();
let site: WebSite;
beforeEach(async () => {
  site = await openWebSite({
    "site.example": [[publicAddress]],
    "other.example": [[publicAddress]],
    "both.example": [["10.0.0.7", publicAddress]],
    localhost: [["127.0.0.1"]],
    "169.254.169.254.nip.example": [["169.254.169.254"]],
    "mapped.example": [["::ffff:127.0.0.1"]],
    "translated.example": [["64:ff9b::7f00:1"]],
  });
});
afterEach(() => site.close());

/** Past the question who has given the address: the reading itself has to hold. */
function reader() {
  const { web } = openReading(site, { limits: { deadlineMs: 1_000 } });
  const pages = web.open("test:w:c:t", {
    forward: async function* () {},
    backward: async function* () {},
  })?.pages;
  if (!pages) throw new Error("no pages");
  return async (address: string) => {
    const reading = await pages.read(address, { whole: false, signal: AbortSignal.timeout(20_000) });
    return reading.ok ? `read ${reading.kind}` : reading.message;
  };
}

const privateSpellings = [
  "http://127.0.0.1/",
  "http://2130706433/",
  "http://0177.0.0.1/",
  "http://0x7f.0x0.0x0.0x1/",
  "http://0x7f000001/",
  "http://127.1/",
  "http://127.0.0.1./",
  "http://%31%32%37.0.0.1/",
  "http://\uff11\uff12\uff17.0.0.1/",
  "http://\u2460\u2461\u2466.0.0.1/",
  "http://0/",
  "http://0.0.0.0/",
  "http://localhost/",
  "http://LOCALHOST./",
  "http://2852039166/latest/meta-data/",
  "http://0251.0376.0251.0376/",
  "http://169.254.169.254.nip.example/",
  "http://[::1]/",
  "http://[::]/",
  "http://[0:0:0:0:0:ffff:7f00:1]/",
  "http://[::ffff:127.0.0.1]/",
  "http://[::ffff:a9fe:a9fe]/",
  "http://[::127.0.0.1]/",
  "http://[64:ff9b::127.0.0.1]/",
  "http://[2002:7f00:1::]/",
  "http://[fe80::1]/",
  "http://[fd00:ec2::254]/",
  "http://mapped.example/",
  "http://translated.example/",
];

test("no spelling of a private address is dialled, typed or as a redirect", async (context) => {
  countAttacks(context, 2 * privateSpellings.length);
  const read = reader();
  for (const address of privateSpellings) {
    expect([address, await read(address)]).toEqual([
      address,
      expect.stringMatching(/is at a private address|could not be resolved|can be fetched/),
    ]);
  }
  expect(site.dialled).toEqual([]);
  // A header holds no other characters.
  for (const address of privateSpellings.filter((each) => /^[!-~]+$/.test(each))) {
    const led = await read(`http://site.example/?to=${encodeURIComponent(address)}`);
    expect([address, led]).toEqual([
      address,
      expect.stringMatching(/is at a private address|could not be resolved|can be fetched/),
    ]);
  }
  expect(new Set(site.dialled)).toEqual(new Set([`${publicAddress}:80`]));
});

test("of a name with a private and a public address the public one is dialled", async () => {
  await reader()("http://both.example/text");
  expect(site.dialled).toEqual([`${publicAddress}:80`]);
});

test.each([
  ["a name", "http://ada@site.example/"],
  ["a password", "https://ada:pw@site.example/"],
  ["another host before the at sign", "http://site.example@other.example/"],
  ["a backslash before it", "http://site.example\\@other.example/"],
  ["other schemes", "ftp://site.example/"],
  ["data", "data:text/html,<p>hi</p>"],
  ["the browser's own", "view-source:http://site.example/"],
  ["scripts", "javascript:alert(1)"],
  ["a port", "http://site.example:22/"],
  ["port 0", "http://site.example:0/"],
])(
  "an address with %s is refused before anything is looked up, or leads to nobody else",
  async (_, address) => {
    const said = await reader()(address);
    expect(said).toMatch(/never sent|can be fetched|is closed|no page at this address/);
    expect(site.resolved).not.toContain("other.example");
  },
);

test("a redirect takes no cookie along, ends in no circle, and leads nowhere that is no address", async () => {
  const read = reader();
  expect(await read("http://site.example/cookie")).toBe("read text");
  expect(site.requests.map(({ headers }) => [headers["cookie"], headers["authorization"]])).toEqual([
    [undefined, undefined],
    [undefined, undefined],
  ]);
  expect(await read("http://site.example/loop")).toBe("It redirects more than 5 times.");
  expect(await read("http://site.example/no-place")).toBe("site.example redirects to what is no address.");
});

test.each([
  ["brotli-bomb", /sends more than 1 MB/],
  ["deflate-bomb", /sends more than 1 MB/],
  ["layers", /packs the page in a way that was not asked for/],
  ["not-packed", /did not answer as HTTP demands/],
  ["cut-off", /did not answer as HTTP demands/],
  ["short", /did not answer as HTTP demands/],
  ["header-flood", /did not answer as HTTP demands/],
  ["header-drip", /did not send the page within 1 s/],
  ["continues", /did not send the page within 1 s/],
  ["smuggled", /did not answer as HTTP demands|empty page/],
])("an answer that is a trap is left with a sentence, and holds nobody up: %s", async (path, said) => {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const heard = await reader()(`http://site.example/${path}`);
  delay.disable();
  expect(heard).toMatch(said);
  // Promised are 100 ms, of a machine that has nothing else to do.
  expect(delay.max / 1e6).toBeLessThan(500);
});

describe("what is not what it says", () => {
  const textOf = async (path: string) => (await openReading(site).fetch(`http://site.example/${path}`)).text;

  test("is read as what it is, or named, and never shown as anything else", async () => {
    expect(await textOf("html-as-picture")).toContain("is image/png, and there is no workspace here");
    expect(await textOf("pdf-as-html")).toContain("there is no workspace here");
    expect(await textOf("html-as-json")).toContain("> <html><body>I am no JSON</body></html>");
    // No control character reaches whoever looks at it.
    expect((await textOf("bytes-as-text")).replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });

  test("is no PDF to pdftotext either", async ({ skip }) => {
    skip(!existsSync("/usr/bin/pdftotext"), "pdftotext is not installed: apt install poppler-utils");
    const { sandbox } = await newWorkspace();
    const { text } = await openReading(site, { sandbox }).fetch("http://site.example/html-as-pdf");
    expect(text).toMatch(/into the workspace|could not be read/);
  });
});

test("feeds are read in each of their forms, and their entities name neither files nor other hosts nor grow", async () => {
  const { fetch } = openReading(site);
  const one = "> - [One](http://site.example/one) (2026-11-02)\n>   Hi";
  expect((await fetch("http://site.example/atom")).text).toContain(one);
  expect((await fetch("http://site.example/json-feed")).text).toContain(one);
  const { text } = await fetch("http://site.example/laughs");
  expect(text).toContain("> - First &file;&far;\n>   &a9;");
  expect(text.length).toBeLessThan(5_000);
  expect(text).not.toContain("root:");
  expect(new Set(site.dialled)).toEqual(new Set([`${publicAddress}:80`]));
});

test("JSON that is nested without an end costs no stack", async () => {
  const { fetch } = openReading(site);
  for (const path of ["deep-json", "legal-deep-json"]) {
    const { text } = await fetch(`http://site.example/${path}`);
    expect([path, text]).toEqual([path, expect.stringMatching(/^Address: |was not read: /)]);
  }
});

test("a PDF that unpacks to hundreds of megabytes is ended or read in the sandbox, and the worker stays", async ({
  skip,
}) => {
  skip(!existsSync("/usr/bin/pdftotext"), "pdftotext is not installed: apt install poppler-utils");
  const { sandbox } = await newWorkspace();
  pdfBomb();
  const before = process.memoryUsage().rss;
  const { text } = await openReading(site, { sandbox }).fetch("http://site.example/pdf-bomb");
  expect(text).toMatch(/^Address: |is a PDF, /);
  expect(text.length).toBeLessThan(200_000);
  expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1_048_576);
}, 180_000);
