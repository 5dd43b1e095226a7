import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { createMasker } from "../../../src/agent/secrets/mask-secrets.ts";

/** Apart from its number, so that no scanner takes a test for a leak. */
const slackBot = "xoxb";
const secret = "pa55/word+with=odd&chars?";
const masker = createMasker([secret, "another-secret-value"]);

const inLines = (numbers: readonly string[], line: number, between: string, start = "") =>
  numbers.map((number, at) => (at % line === 0 ? `\n${start}` : between) + number).join("");
const padTo = (width: number) => (byte: number) => String(byte).padStart(width);
const inHex = (byte: number) => byte.toString(16).padStart(2, "0");

/** Lists of bytes as programs print them. */
const lists: [string, (bytes: readonly number[]) => string][] = [
  ["od -An -tu1", (bytes) => inLines(bytes.map(padTo(4)), 16, "")],
  [
    "od -An -to1",
    (bytes) =>
      inLines(
        bytes.map((byte) => ` ${byte.toString(8).padStart(3, "0")}`),
        16,
        "",
      ),
  ],
  [
    "od -An -tx1",
    (bytes) =>
      inLines(
        bytes.map((byte) => ` ${inHex(byte)}`),
        16,
        "",
      ),
  ],
  [
    "xxd -i",
    (bytes) =>
      inLines(
        bytes.map((byte) => `0x${inHex(byte)},`),
        12,
        " ",
        "  ",
      ),
  ],
  ["JSON", (bytes) => JSON.stringify(bytes)],
  ["JSON with a number on each line", (bytes) => JSON.stringify(bytes, undefined, 4)],
  ["Python", (bytes) => `[${bytes.join(", ")}]`],
  [
    "Node, in columns",
    (bytes) =>
      `[${inLines(
        bytes.map((byte) => `${padTo(3)(byte)},`),
        12,
        " ",
        "  ",
      )}\n]`,
  ],
  [
    "Node, with colours",
    (bytes) => `[\n  ${bytes.map((byte) => `\u001b[33m${byte}\u001b[39m`).join(", ")}\n]`,
  ],
  ["a number on each line", (bytes) => inLines(bytes.map(String), 1, "")],
];

describe("known values", () => {
  test("are masked, and the text around them stays", () => {
    expect(masker.mask(`before ${secret} after`)).toBe("before [masked] after");
  });

  const bytes = Buffer.from(secret);
  test.each([
    ["base64", bytes.toString("base64").replace(/=+$/, "")],
    ["base64url", bytes.toString("base64url")],
    ["hex", bytes.toString("hex")],
    ["upper-case hex", bytes.toString("hex").toUpperCase()],
    ["URL encoding", encodeURIComponent(secret)],
    ["lower-case URL encoding", encodeURIComponent(secret).toLowerCase()],
  ])("are masked in %s", (_, encoded) => {
    const masked = masker.mask(`value: ${encoded}\n`);
    expect(masked).toContain("[masked]");
    expect(masked).not.toContain(encoded.slice(2, -2));
  });

  test("are masked inside a JSON string, line breaks included", () => {
    const multiline = createMasker(['first "line"\nsecond line']);
    expect(multiline.mask(JSON.stringify({ key: 'first "line"\nsecond line' }))).toBe('{"key":"[masked]"}');
  });

  test("are masked when an encoder wraps its lines", () => {
    const wrapped = Buffer.from(`${"x".repeat(50)}${secret}`)
      .toString("base64")
      .replace(/(.{76})/g, "$1\r\n");
    const masked = masker.mask(`${wrapped}\n`);
    expect(masked).toContain("[masked]");
    expect(Buffer.from(masked.replace("[masked]", "").replace(/\s/g, ""), "base64").toString()).not.toContain(
      "word",
    );
  });

  test.each(lists)("are masked as a list of bytes: %s", (_, write) => {
    const text = `before\n${write([...bytes])}\nafter 1, 2, 3, 4, 5, 6, 7, 8, 9\n`;
    const masked = stripVTControlCharacters(masker.mask(text));
    expect(masked).toMatch(/^before\s*(?:\[\s*)?(?:0x)?\[masked\][^\d]*after 1, 2, 3, 4, 5, 6, 7, 8, 9\n$/);
  });

  test("of fewer than 8 characters are ignored", () => {
    expect(createMasker(["the"]).mask("the end")).toBe("the end");
  });

  test("never survive, whatever is around them and in whichever alignment they are encoded", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 8 }), fc.string(), fc.string(), (value, before, after) => {
        const known = createMasker([value]);
        const all = Buffer.from(before + value + after);
        const inner = Buffer.from(value).toString("base64").slice(0, -4);
        expect(known.mask(before + value + after)).not.toContain(value);
        expect(known.mask(all.toString("hex"))).not.toContain(Buffer.from(value).toString("hex"));
        expect(known.mask(all.toString("base64"))).toContain("[masked]");
        expect(known.mask(Buffer.from(value).toString("base64"))).not.toContain(inner);
      }),
    );
  });

  test("do not come back when a masked text is masked again", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(secret, "sk-ant-api03-abcdefghijklmnopq", "\n", " ", "a-", "[masked]")),
        (parts) => {
          const once = masker.mask(parts.join(""));
          expect(masker.mask(once)).toBe(once);
        },
      ),
    );
  });
});

describe("well-known shapes", () => {
  const letters = "Ab3dEf6hIj9lMn2pQr5tUv8xYz1Bc4Ef7Hi0";
  test.each([
    ["a Slack bot token", `${slackBot}-123456789012-${letters}`],
    ["a Slack app token", `xapp-1-A0${letters}`],
    ["a Discord token", `M${letters.slice(0, 25)}.Gabcde.${letters.slice(0, 30)}`],
    ["an Anthropic key", `sk-ant-api03-${letters}`],
    ["an OpenAI key", `sk-proj-${letters}`],
    ["a GitHub token", `ghp_${letters}`],
    [
      "a GitHub installation token",
      `ghs_1234567_${["eyJhbGciOiJSUzI1NiJ9", "eyJpc3MiOiIxIn0", letters].join(".")}`,
    ],
    ["a fine-grained GitHub token", `github_pat_11AB_${letters}`],
    ["an AWS key id", "AKIAIOSFODNN7EXAMPLE"],
    ["a Google key", `AIza${letters.slice(0, 35)}`],
    ["a Bedrock key", `ABSK${letters.repeat(4)}==`],
    ["a Fly token without its scheme", `fm2_${letters.repeat(3)}`],
    ["a Fly deploy token", `fo1_${letters}Ab3dEf6`],
    ["a secret of an Azure application", `aB.8Q~${letters.slice(0, 34)}`],
    ["a Telegram bot token", `7000000001:A${letters.slice(0, 34)}`],
    ["a routable GitLab token", `glpat-${letters}.0a1b2c3d4`],
    ["a GitLab runner's registration token", `GR1348941${letters.slice(0, 20)}`],
    ["a Stripe key", `rk_prod_${letters.slice(0, 10)}`],
    ["a Square access token", `EAAA${letters}${letters.slice(0, 24)}`],
    ["a Twilio key", `SK${"0aB1".repeat(8)}`],
    ["a Terraform token", `${letters.slice(0, 14)}.atlasv1.${letters.repeat(2).slice(0, 67)}`],
    ["a 1Password service account", `ops_eyJ${letters.repeat(7)}`],
    ["a Grafana key of before", `eyJrIjoi${letters.repeat(2)}`],
    ["a JSON Web Token", `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${letters}`],
  ])("%s is masked", (_, token) => {
    expect(masker.mask(`TOKEN=${token}\nnext`)).toBe("TOKEN=[masked]\nnext");
    expect(masker.mask(`{"/${token}": 1}`)).toBe('{"/[masked]": 1}');
  });

  test("a token behind an underscore is masked", () => {
    expect(masker.mask(`backup_ghp_${letters}`)).toBe("backup_[masked]");
  });

  test.each(["\n", "\r\n", "\t"])("a token behind %j is masked in JSON, and in JSON in JSON", (before) => {
    const line = `the key:${before}ghp_${letters} and more`;
    for (const json of [JSON.stringify({ line }), JSON.stringify(JSON.stringify({ line }))])
      expect(masker.mask(json)).toBe(json.replace(`ghp_${letters}`, "[masked]"));
  });

  const body = `${letters}${letters}\n${letters}\nab==`;
  test("a private key is masked whole, also with its line breaks escaped", () => {
    const key = `-----BEGIN RSA PRIVATE KEY-----\n${body}\n-----END RSA PRIVATE KEY-----`;
    expect(masker.mask(`a ${key} b`)).toBe("a [masked] b");
    expect(masker.mask(JSON.stringify({ key }))).toBe('{"key":"[masked]"}');
  });

  test("so is one of OpenPGP, with its headers and its checksum", () => {
    const key = `-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n${body}\n=Ab3d\n-----END PGP PRIVATE KEY BLOCK-----`;
    expect(masker.mask(`a ${key} b`)).toBe("a [masked] b");
  });

  test.each<[string, (line: string, number: number) => string]>([
    ["read_file", (line, number) => `${String(number).padStart(6)}|${line}`],
    ["cat -n", (line, number) => `${String(number).padStart(6)}\t${line}`],
    ["grep -n", (line, number) => `a/b.pem:${number}:${line}`],
    ["grep", (line) => `a/b.pem:${line}`],
    ["a quotation", (line) => `> ${line}`.trimEnd()],
    ["a difference", (line) => `-${line}`],
  ])("and one whose lines %s shows", (_program, show) => {
    for (const headers of ["", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123\n\n"]) {
      const key = `-----BEGIN RSA PRIVATE KEY-----\n${headers}${body}\n-----END RSA PRIVATE KEY-----`;
      const shown = key.split("\n").map((line, index) => show(line, index + 1));
      expect(masker.mask(shown.join("\n"))).toBe(show("[masked]", 1));
    }
  });

  test("a private key whose end was cut off is masked as far as it goes", () => {
    expect(masker.mask(`-----BEGIN PRIVATE KEY-----\n${letters}\n${letters}\n... more`)).toBe(
      "[masked]\n... more",
    );
  });

  test.each([
    "grep -rn '-----BEGIN PRIVATE KEY-----' src",
    "the sk-learn-like-names-of-a-package stay",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "a task-1234567890-1234567890-1234567890",
  ])("ordinary text stays: %s", (text) => {
    expect(masker.mask(text)).toBe(text);
  });
});

describe("hostile text", () => {
  // A pattern that reads it anew from each place exceeds the test's own time limit.
  const large = 1 << 18;
  test.each([
    ["-eyJ", "-eyJ".repeat(large / 4)],
    ["eyJ and dots", ".eyJaaaaaaaa".repeat(large / 12)],
    ["sk-", "sk-".repeat(large / 3)],
    ["key headers", "-----BEGIN PRIVATE KEY-----".repeat(large / 27)],
    ["blanks after a key header", `-----BEGIN PRIVATE KEY-----${" \n".repeat(large / 2)}`],
    ["names after a key header", `-----BEGIN PRIVATE KEY-----\n${"a/.".repeat(large / 3)}`],
    ["numbers after a key header", `-----BEGIN PRIVATE KEY-----${"\n1:".repeat(large / 3)}`],
    ["SG. with dashes", "-SG.".repeat(large / 4)],
    ["numbers", "12, ".repeat(large / 4)],
    ["numbers and blanks", `1${" ".repeat(large / 8)}`.repeat(8)],
    ["a number and line breaks", `1${"\n".repeat(large)}x`],
    ["one letter", "a".repeat(large)],
  ])("of 256 KB made of %s takes no more than a moment", (_, text) => {
    expect(masker.mask(text)).not.toBe("");
  });
});

describe("a stream", () => {
  function streamed(chunks: readonly string[]): string {
    let result = "";
    const stream = masker.stream((chunk) => {
      result += chunk;
    });
    for (const chunk of chunks) stream.write(chunk);
    stream.end();
    return result;
  }

  test("hands on whole lines at once", () => {
    const seen: string[] = [];
    const stream = masker.stream((chunk) => seen.push(chunk));
    stream.write("building\n");
    stream.write("100 tests, all of them ");
    expect(seen).toEqual(["building\n", "100 tests, all of them "]);
  });

  test("masks what is split over chunks exactly as in one text", () => {
    const token = `${slackBot}-123456789012-abcdefghijk`;
    const key = `-----BEGIN PRIVATE KEY-----\n${"Ab3d".repeat(16)}\n-----END PRIVATE KEY-----`;
    const part = fc.constantFrom(
      secret,
      encodeURIComponent(secret),
      token,
      key,
      ...lists.map(([, write]) => write([...Buffer.from(secret)])),
      "7, 8, 9\n",
      JSON.stringify(`the key:\nghp_${"aB3d".repeat(9)}\n`),
      "word ",
      "line\n",
      "pa55",
      "/",
    );
    fc.assert(
      fc.property(fc.array(part), fc.array(fc.nat(40)), (parts, lengths) => {
        const text = parts.join("");
        const chunks: string[] = [];
        let rest = text;
        for (const length of lengths) {
          chunks.push(rest.slice(0, length));
          rest = rest.slice(length);
        }
        expect(streamed([...chunks, rest])).toBe(masker.mask(text));
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ["a quoted password", '\npassword="', "a few more of its words "],
    ["a private key", "-----BEGIN PRIVATE KEY-----\n", "Ab3dAb3dAb3dAb3d\n"],
    ["a cookie", "\nCookie: a=", "b3d; c="],
  ])("in small pieces behind the beginning of %s is searched only now and then", (_, beginning, piece) => {
    using searches = vi.spyOn(String.prototype, "search");
    streamed([beginning, ...Array<string>(3_000).fill(piece)]);
    expect(searches.mock.calls.length).toBeLessThan(1_500);
  });

  test("masks what it holds for long exactly as in one text", () => {
    const long = "Ab3d ".repeat(600);
    const part = fc.constantFrom(
      `\npassword="${long}"\n`,
      `\npassword="${long}\n`,
      `-----BEGIN PRIVATE KEY-----\n${"Ab3dEf6h\n".repeat(300)}-----END PRIVATE KEY-----`,
      `\nCookie: a=${long}\n`,
      `${secret} `,
      "word ",
    );
    const length = fc.oneof(fc.nat(40), fc.nat(2_000));
    fc.assert(
      fc.property(fc.array(part, { maxLength: 4 }), fc.array(length), (parts, lengths) => {
        const text = parts.join("");
        const chunks: string[] = [];
        let at = 0;
        for (const size of lengths) chunks.push(text.slice(at, (at += size)));
        expect(streamed([...chunks, text.slice(at)])).toBe(masker.mask(text));
      }),
    );
  });

  test("hands on what it held as soon as that is clear, though nothing more comes", async () => {
    const seen = await new Promise((resolve) => {
      const stream = masker.stream(resolve);
      stream.write(`-----BEGIN PRIVATE KEY-----\n${"Ab3d".repeat(1_000)}\n`);
      stream.write("-----END PRIVATE KEY-----\n");
    });
    expect(seen).toBe("[masked]\n");
  });

  test("masks a secret that begins at the end of a piece of 64 KB", () => {
    const before = "x ".repeat(1 << 15);
    expect(streamed(["word ", before + secret.slice(0, 10), `${secret.slice(10)}\n`])).toBe(
      `word ${before}[masked]\n`,
    );
  });
});
