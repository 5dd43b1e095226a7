import { expect, test } from "vitest";
import { extractText } from "../../src/web/extract/extract-text.ts";

/** What pages of the web are like, beside the one that tests/fakes/web-site.ts serves. */

function read(body: string | Buffer, mediaType = "text/html", charset?: string) {
  const order = {
    body: Buffer.from(body),
    mediaType,
    address: "https://site.example/docs/page",
    whole: false,
  };
  return extractText({ ...order, ...(charset !== undefined && { charset }) });
}

const page = (body: string) =>
  `<!doctype html><html><head><title>T</title></head><body>${body}</body></html>`;

test.each([
  [
    "line breaks at the end of each line, as Docusaurus has them",
    '<pre><code><span class="token-line"><span>if x:</span><br></span><span class="token-line"><span>  go()</span><br></span></code></pre>',
  ],
  [
    "an element for each line, as Expressive Code has them",
    '<pre><code><div class="ec-line"><div class="code">if x:</div></div><div class="ec-line"><div class="code"><span>  </span>go()</div></div></code></pre>',
  ],
  ["a code element for each line", "<pre><code>if x:</code>\n<code>  go()</code></pre>"],
  [
    "something before the code and a button behind it",
    "<pre>\n<code>if x:\n  go()</code><button>Copy</button></pre>",
  ],
  [
    "a table with numbers beside it",
    '<table><tr><td class="gutter"><pre>1\n2</pre></td><td><pre><code>if x:\n  go()</code></pre></td></tr></table>',
  ],
])("code keeps its lines and their indentation: %s", async (_, html) => {
  expect((await read(page(html))).text).toMatch(/```\n+if x:\n {2}go\(\)\n```$/);
});

test("a page that is one form is read, without what people fill in", async () => {
  const { text } = await read(
    page(
      '<form id="aspnetForm"><h1>Opening hours</h1><p>Monday to Friday</p><input value="v"><select><option>Blue</option></select></form>',
    ),
  );
  expect(text).toBe("# Opening hours\n\nMonday to Friday");
});

test.each([
  [
    "Atom with comments, the feed itself and the page, as Blogger writes it",
    '<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>One</title><link rel="replies" href="/one/comments"/><link rel="self" href="/feeds/1"/><link rel="alternate" href="/one"/></entry></feed>',
  ],
  [
    "RSS with a link of Atom before its own",
    '<rss version="2.0"><channel><item><title>One</title><atom:link rel="self" href="/feeds/1"/><link>/one</link></item></channel></rss>',
  ],
  [
    "RSS whose guid is the address",
    '<rss version="2.0"><channel><item><title>One</title><guid>https://site.example/one</guid></item></channel></rss>',
  ],
])("an entry of a feed links its page: %s", async (_, xml) => {
  expect((await read(xml, "application/xml")).text).toBe("- [One](https://site.example/one)");
});

test("an entry of a feed that names no page links none", async () => {
  const xml =
    '<rss version="2.0"><channel><item><title>One</title><guid isPermaLink="false">https://site.example/1</guid></item></channel></rss>';
  expect((await read(xml, "text/xml")).text).toBe("- One");
  const json = { version: "https://jsonfeed.org/version/1.1", items: [{ title: "One" }] };
  expect((await read(JSON.stringify(json), "application/feed+json")).text).toBe("- One");
});

test("signs that a feed writes by number or name are read as they are meant, as in what WordPress writes", async () => {
  const { text } = await read(
    "<rss><channel><item><title><![CDATA[Rock &#038; Roll]]></title><description><![CDATA[<p>It&#8217;s good &#x2013; and loud &hellip; &#0; &#x110000; &#55357; &nope;</p>]]></description></item></channel></rss>",
    "text/xml",
  );
  expect(text).toBe("- Rock & Roll\n  It’s good – and loud … &#0; &#x110000; \uFFFD &nope;");
});

test.each([
  [
    "text/xml",
    '<?xml version="1.0" encoding="utf-16"?><feed><entry><title>Größe</title></entry></feed>',
    "- Größe",
  ],
  ["text/html", '<html><head><meta charset="utf-16"></head><body>Größe</body></html>', "Größe"],
])(
  "what says in plain letters that it is UTF-16 is none, as programs write it: %s",
  async (type, body, text) => {
    expect(await read(body, type)).toMatchObject({ text });
  },
);

test("a text that names no charset and is not UTF-8 is read as browsers read it, and it is said", async () => {
  const { text, remarks } = await read(Buffer.from("Größe: 5 \x80\n", "latin1"), "text/plain");
  expect(text).toBe("Größe: 5 €");
  expect(remarks).toEqual(["it names no charset and is not UTF-8; it was read as windows-1252"]);
});

test("a text that names no charset stays UTF-8 where a part of it is broken", async () => {
  const body = Buffer.concat([Buffer.from("Größe, Maß und Höhe "), Buffer.from([0xf0, 0x9f])]);
  expect(await read(body, "text/plain")).toMatchObject({ text: "Größe, Maß und Höhe \uFFFD", remarks: [] });
});

test("JSON keeps the digits of long numbers, as ids are", async () => {
  const { text } = await read(
    '{"id":1234567890123456789,"n":[-98765432109876543210,1.5,7]}',
    "application/json",
  );
  expect(text.replaceAll(/\s/g, "")).toBe('{"id":1234567890123456789,"n":[-98765432109876543210,1.5,7]}');
});

test("a feed that is sent as a page is read as a feed", async () => {
  const rss =
    '<rss version="2.0"><channel><title>News</title><item><title>One</title><link>/one</link></item></channel></rss>';
  const text = "- [One](https://site.example/one)";
  expect(await read(rss)).toMatchObject({ title: "News", text });
  expect(await read(`<?xml version="1.0" encoding="UTF-8"?>\n${rss}`)).toMatchObject({ title: "News", text });
  expect((await read(page("<p>About &lt;rss&gt; and <code>&lt;feed&gt;</code></p>"))).text).toContain(
    "About",
  );
});

test.each([
  ["behind its end", "<html><body><p>First</p></body><p>Second</p></html>"],
  [
    "in a whole page behind it",
    "<html><body><p>First</p></body></html>\n<html><body><p>Second</p></body></html>",
  ],
])("what stands of a page %s is read, as browsers show it", async (_, html) => {
  expect((await read(html)).text).toBe("First\n\nSecond");
});

test.each([
  ["rows", "<tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr>"],
  ["a body", "<tbody><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></tbody>"],
])("a table with a caption and columns stays a table: %s", async (_, rows) => {
  const table = `<table><caption>Looms</caption><colgroup><col><col></colgroup>${rows}</table>`;
  expect((await read(page(table))).text).toBe("Looms\n\n| A | B |\n| --- | --- |\n| 1 | 2 |");
});
