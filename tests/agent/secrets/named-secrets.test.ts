import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createMasker } from "../../../src/agent/secrets/mask-secrets.ts";

const masker = createMasker([]);
const { mask } = masker;

/** Put together here, so that no scanner takes a test for a leak. */
const password = ["Sup3r", "S3cret!"].join("");
const random = "q7Zk2Xw9Rb4Tn6Vy1Hc3Jd5Lf8Gm0Ps".repeat(8);
const hex = "3f9a1c7be25d8046".repeat(16);
const letters = (length: number) => random.slice(0, length);
const digits = (length: number) => hex.slice(0, length);

describe("A secret is masked by its name, which stays,", () => {
  const lines: [string, string][] = [
    ["an environment file", `DB_PASSWORD=${password}`],
    ["an environment file without digits", "PGPASSWORD=correcthorse"],
    ["a quoted one", `API_KEY="${password}"`],
    ["a single-quoted one", `client_secret='${password}'`],
    ["a shell's export", `export AWS_SECRET_ACCESS_KEY=${letters(40)}`],
    ["YAML", `  password: ${password}`],
    ["quoted YAML", `  secretKey: "${password}"`],
    ["JSON", `{"user":"a","password":"${password}","port":1}`],
    ["JSON in JSON", JSON.stringify({ body: JSON.stringify({ access_token: password }) })],
    ["a variable of Kubernetes", `- name: DB_PASSWORD\n  value: ${password}`],
    ["a quoted one of Kubernetes", `- name: "DB_PASSWORD"\r\n  value: '${password}'`],
    ["a pair in JSON", `{"name":"DB_PASSWORD","value":"${password}"}`],
    ["a pair in JSON over lines", `  "Name": "ApiKey",\n  "Value": "${letters(24)}"`],
    ["a pair of attributes", `<add key="Password" value="${password}"/>`],
    ["a block of YAML", `secret: |-\n  ${letters(24)}`],
    ["XML", `<user>deploy</user> <password>${password}</password>`],
    ["TOML", `token = "${password}"`],
    ["INI", `passwd = ${password}`],
    ["an option", `mysql --password ${password} -h db`],
    ["an option with =", `tool --api-key=${password}`],
    ["source code", `const apiKey = "${letters(32)}";`],
    ["a query", `GET /x?access_token=${letters(30)}&page=2`],
    ["npm's file", `//registry.example.org/:_authToken=${letters(36)}`],
    ["Docker's file", `{"auths":{"r":{"auth":"${letters(24)}"}}}`],
    ["an Authorization header", `Authorization: Bearer ${digits(22)}`],
    ["a Basic header", `authorization: Basic ${Buffer.from(`u:${password}`).toString("base64")}`],
    ["a header in JSON", `{"Authorization":"Bearer ${letters(24)}"}`],
    ["a header of curl", `curl -H "X-Api-Key: ${letters(24)}" https://a`],
    ["a cookie", `Cookie: theme=dark; sid=${letters(24)}`],
    ["a quoted cookie", `curl -H "Cookie: sid=${letters(24)}" https://a`],
    ["a quoted option of one letter", `bash -c "sshpass -p ${letters(14)}"`],
    ["a cookie that is set", `Set-Cookie: sid=${letters(24)}; Path=/`],
    ["an address of a database", `postgres://user:${password}@host:5432/db`],
    ["an address of any scheme", `amqps://u:${letters(12)}@queue/x`],
    ["an address of Redis", `redis://:${letters(12)}@host`],
    ["a user of curl", `curl -fsS -u deploy:${password} https://a.example/x`],
    ["a quoted user of curl", `curl --user "deploy:${letters(14)}" https://a.example/x`],
    ["a user of curl without a blank", `curl -udeploy:${letters(14)} https://a.example/x`],
    ["a proxy's user of curl", `curl -x p:3128 -U deploy:${letters(14)} https://a.example/x`],
    ["MySQL's option of one letter", `mysql -h db -u root -p${password} shop`],
    ["its dump", `mysqldump -u root -p'${letters(14)}' shop`],
    ["sshpass", `sshpass -p ${password} ssh a`],
    ["one that read_file shows", `5|- name: DB_PASSWORD\n     6|  value: ${password}`],
    ["one that grep shows", `k8s/a.yaml:5:- name: DB_PASSWORD\nk8s/a.yaml:6:  value: ${password}`],
    ["a block of YAML that read_file shows", `5|password: |\n     6|  ${password}`],
    ["a pair in JSON that cat -n shows", `5\t "name": "DB_PASSWORD",\n     6\t "value": "${password}"`],
    ["a login of Docker", `docker login -u deploy -p ${letters(14)} registry.example.org`],
    ["a login of Helm", `helm registry login -u deploy -p ${letters(14)} registry.example.org`],
    ["Redis' client", `redis-cli -h db -a ${letters(14)} ping`],
    ["Samba's client", `smbclient -U deploy%${letters(14)} //a/b`],
    ["a netrc of one line", `machine a.example login deploy password ${password}`],
    ["a netrc of several lines", `machine a.example\n  login deploy\n  password ${password}`],
  ];
  test.each(lines)("in %s", (_, line) => {
    const masked = mask(`before\n${line}\nafter`);
    expect(masked).toContain("[masked]");
    expect(masked).not.toContain(password.slice(2, -2));
    expect(masked).not.toContain(letters(12));
    expect(masked).not.toContain(digits(12));
    expect(masked).toMatch(/^before\n[^]*\nafter$/);
    const beginning = line.slice(0, line.search(/[=: ]/));
    expect(masked).toContain(beginning);
    expect(mask(masked)).toBe(masked);
  });

  const single = lines.filter(([, line]) => !line.includes("\n"));
  test.each(single)("in a line of a text in JSON, which stays JSON: %s", (_, line) => {
    const masked = mask(JSON.stringify({ text: `before\n${line}\nafter` }));
    expect(JSON.parse(masked)).toEqual({ text: expect.stringMatching(/^before\n[^]*\nafter$/) });
    expect(masked).toContain("[masked]");
    expect(masked).not.toContain(password.slice(2, -2));
    expect(masked).not.toContain(letters(12));
    expect(masked).not.toContain(digits(12));
  });

  test("whichever way a stream is cut", () => {
    const part = fc.constantFrom(...lines.map(([, line]) => line), "\n", " ", "words of a text ", "x=1;");
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), fc.array(fc.nat(30)), (parts, lengths) => {
        const text = parts.join("\n");
        let result = "";
        const stream = masker.stream((chunk) => (result += chunk));
        let rest = text;
        for (const length of lengths) {
          stream.write(rest.slice(0, length));
          rest = rest.slice(length);
        }
        stream.write(rest);
        stream.end();
        expect(result).toBe(mask(text));
      }),
      { numRuns: 300 },
    );
  });
});

test.each([
  "password = getPassword()",
  "token: string",
  "password: string;",
  'secret = os.environ["X"]',
  "const token = await readToken(path);",
  "apiKey: process.env.API_KEY,",
  "password=<password>",
  "PASSWORD=changeme",
  "TOKEN=xxxxxxxxxxxx",
  "token: ${TOKEN}",
  "password=$PASS",
  "password=*****",
  "password: '{{ vault_password }}'",
  "postgres://user:password@host/db",
  "postgres://user:${DB_PASSWORD}@host/db",
  "Authorization: Bearer <token>",
  "Authorization: Bearer $TOKEN",
  "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef: { name: db-secret1 }",
  "- name: DB_PASSWORD\n  value: $(DB_PASSWORD_1)",
  "token: |\n  The token is 12 characters long.",
  "const field = <Password>enter it</Password>;",
  "function read(token: Token): Promise<Token>\n  value = parse1(token)",
  "max_tokens: 4096, token_count=1234567",
  "commit 3f786850e387550fdab836ed7e6dc881de23001b",
  "id: 123e4567-e89b-12d3-a456-426614174000",
  `"integrity": "sha512-${letters(86)}=="`,
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
  "The token bucket: it refills; a password must have 12 characters.",
  "if (token === expectedToken2) return;",
  "token_url: https://auth.example.org/oauth2/v1",
  "secretName: tls-secret-v2",
  "docker run -p 8080:80 -u 1000:1000 web:v2",
  "docker run --rm -p 127.0.0.1:8080:80/tcp nginx",
  "curl -u $USER:$PASSWORD https://a.example",
  "curl -u user:password https://a.example",
  "mysql -u root -p shop2024",
  "mysql -P 3306 -prompt",
  "curl is told with -u who asks: a name and a word",
  "Please login password required",
])("What is no secret stays: %s", (text) => {
  expect(mask(text)).toBe(text);
});

test.each([
  ["DigitalOcean", `dop_v1_${digits(64)}`],
  ["CircleCI", `CCIPAT_${letters(22)}_${digits(40)}`],
  ["Buildkite", `bkua_${digits(40)}`],
  ["Netlify", `nfp_${letters(36)}`],
  ["Artifactory", `AKCp${letters(69)}`],
  ["Tavily", `tvly-dev-${letters(16)}${digits(16)}`],
  ["Linear", `lin_api_${letters(40)}`],
  ["Shopify", `shpat_${digits(32)}`],
  ["Docker", `dckr_pat_${letters(27)}`],
  ["xAI", `xai-${letters(80)}`],
  ["Groq", `gsk_${letters(52)}`],
  ["Stripe webhooks", `whsec_${letters(32)}`],
  ["Tailscale", `tskey-auth-${letters(12)}-${letters(32)}`],
  ["Atlassian", `ATATT3${letters(180)}`],
  ["Databricks", `dapi${digits(32)}`],
  ["New Relic", `NRAK-${letters(27).toUpperCase()}`],
  ["Telegram", `1234567890:AA${letters(33)}`],
  ["Notion", `ntn_${letters(46)}`],
  ["Figma", `figd_${letters(40)}`],
  ["Mailgun", `key-${digits(32)}`],
  ["Twilio", `SK${digits(32)}`],
  ["Vault", `hvs.${letters(90)}`],
  ["age", `AGE-SECRET-KEY-1${letters(58).toUpperCase()}`],
  ["GitLab's runners", `glrt-${letters(20)}`],
  ["Azure storage", `AccountKey=${letters(86)}==`],
  ["Azure SAS", `sig=${letters(43)}%3D`],
  ["NVIDIA", `nvapi-${letters(64)}`],
  ["LangSmith", `lsv2_pt_${digits(32)}_${digits(10)}`],
  ["HubSpot", `pat-na1-${digits(8)}-${digits(4)}-${digits(4)}-${digits(4)}-${digits(12)}`],
  ["Dynatrace", `dt0c01.${letters(24).toUpperCase()}.${letters(64).toUpperCase()}`],
  ["EasyPost", `EZAK${letters(54)}`],
  ["OpenShift", `sha256~${letters(43)}`],
  ["Octopus Deploy", `API-${letters(26).toUpperCase()}`],
  ["Prefect", `pnu_${digits(36)}`],
  ["ReadMe", `rdme_${digits(70)}`],
  ["Scalingo", `tk-us-${letters(48)}`],
  ["Shippo", `shippo_live_${digits(40)}`],
  ["SonarQube", `squ_${digits(40)}`],
  ["Sourcegraph", `sgp_${digits(40)}`],
  ["Facebook", `EAAC${letters(120)}`],
  ["X", `${"A".repeat(22)}${letters(90)}`],
  ["Typeform", `tfp_${letters(59)}`],
  ["Alibaba Cloud", `LTAI${letters(20)}`],
  ["Yandex Cloud", `AQVN${letters(36)}`],
  ["Adobe", `p8e-${letters(32)}`],
  ["MaxMind", `${letters(6)}_${letters(29)}_mmk`],
  ["ClickHouse Cloud", `4b1d${letters(38)}`],
  ["Harness", `pat.${letters(22)}.${letters(24)}.${letters(20)}`],
  ["Defined Networking", `dnkey-${digits(26)}-${digits(52)}`],
  ["SettleMint", `sm_pat_${letters(16)}`],
  ["Authress", `sc_${digits(12)}.${digits(4)}.acc-${digits(12)}.${letters(40)}`],
  ["Plaid", `access-production-${digits(8)}-${digits(4)}-${digits(4)}-${digits(4)}-${digits(12)}`],
  ["Flutterwave", `FLWSECK_TEST-${digits(32)}-X`],
  ["Duffel", `duffel_live_${letters(43)}`],
  ["Artifactory, as a reference", `cmVmd${letters(59)}`],
  ["GitLab, as a session", `_gitlab_session=${digits(32)}`],
  [
    "Microsoft Teams",
    `acme.webhook.office.com/webhookb2/${digits(36)}@${digits(36)}/IncomingWebhook/${digits(32)}`,
  ],
  [
    "1Password",
    `A3-${letters(6).toUpperCase()}-${letters(11).toUpperCase()}${`-${letters(5).toUpperCase()}`.repeat(3)}`,
  ],
  ["Frame.io", `fio-u-${letters(64)}`],
  ["Mailchimp", `${digits(32)}-us12`],
  ["Infracost", `ico-${letters(32)}`],
  ["Clojars", `CLOJARS_${digits(60)}`],
  ["Dropbox", `sl.${letters(130)}`],
  ["Vercel Blob", `vercel_blob_rw_${letters(16)}_${letters(30)}`],
  ["Supabase", `sb_secret_${letters(22)}_${letters(8)}`],
  ["Google's OAuth", `GOCSPX-${letters(28)}`],
  ["Grafana", `glsa_${letters(32)}_${digits(8)}`],
])("A token of %s is masked by its shape", (_, token) => {
  expect(mask(`see ${token} there`)).not.toContain(token.slice(-16));
  expect(mask(`"${token}"`)).toContain("[masked]");
});

describe("A known secret is masked", () => {
  const secret = ["correct", "horse", "battery", "9"].join("-");
  const known = createMasker([secret]);
  const bytes = [...Buffer.from(secret)];
  const pairs = bytes.map((byte) => byte.toString(16).padStart(2, "0"));
  const twice = Buffer.from(Buffer.from(secret).toString("base64")).toString("base64");
  const forms: [string, string][] = [
    ["reversed", [...secret].toReversed().join("")],
    ["twice in base64", twice],
    ["in hex with blanks", pairs.join(" ")],
    ["in hex as xxd groups it", pairs.join("").replaceAll(/(....)/g, "$1 ")],
    ["in hex with colons", pairs.join(":").toUpperCase()],
    ["in hex of mixed letters", pairs.map((pair, at) => (at % 2 ? pair.toUpperCase() : pair)).join("")],
    ["with % before every byte", pairs.map((pair) => `%${pair}`).join("")],
    ["with \\x before every byte", pairs.map((pair) => `\\x${pair.toUpperCase()}`).join("")],
    ["with \\u before every character", pairs.map((pair) => `\\u00${pair}`).join("")],
    ["in octal", bytes.map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("")],
    ["as a list of numbers", bytes.join(", ")],
    ["with colours inside", [...secret].join("\u001b[0m")],
    ["with characters of no width inside", [...secret].join("\u200b")],
    ["with selectors inside", [...secret].join("\uFE0F")],
    ["with joiners inside", [...secret].join("\u034F")],
    ["with tags inside", [...secret].join("\u{E0061}")],
    ["with bidirectional marks inside", [...secret].join("\u2066")],
  ];
  test.each(forms)("%s", (_, form) => {
    expect(known.mask(`so: ${form} end`)).not.toContain(form.slice(8, -8));
    let streamed = "";
    const stream = known.stream((chunk) => (streamed += chunk));
    for (const character of `so: ${form} end`) stream.write(character);
    stream.end();
    expect(streamed).toBe(known.mask(`so: ${form} end`));
  });
});

describe("hostile text", () => {
  const size = 1 << 18;
  test.each([
    'token="',
    "password=",
    "password: '",
    "://",
    "://a:",
    "Authorization: ",
    "Cookie: a=",
    "secret_key_key_key_",
    "--token ",
    "\\\\\\",
    "ab ",
    "Bearer ",
    "\u001b[0",
    "SecretSecretSecret",
  ])("of 256 KB made of %j takes no more than a moment", (piece) => {
    const text = piece.repeat(size / piece.length);
    const before = performance.now();
    createMasker(["a-secret-to-look-for"]).mask(text);
    // Some 200 ms; what grows faster than the text takes minutes.
    expect(performance.now() - before).toBeLessThan(20_000);
  });
});

test("Of this project's own source and documents, and of its libraries' READMEs, hardly a line is masked", () => {
  const root = resolve(import.meta.dirname, "../../..");
  const own = execFileSync(
    "git",
    ["ls-files", "src", "docs", "scripts", "deploy", "bench", "*.json", "*.md"],
    {
      cwd: root,
      encoding: "utf8",
    },
  );
  const paths = [
    ...own.split("\n").filter((path) => /\.(?:ts|js|md|json|ya?ml|lua|sh|css|html)$/.test(path)),
    ...globSync("node_modules/*/README.md", { cwd: root }),
  ];
  let size = 0;
  const changed: string[] = [];
  for (const path of paths) {
    const text = readFileSync(join(root, path), "utf8");
    size += text.length;
    const lines = text.split("\n");
    const masked = mask(text).split("\n");
    changed.push(...lines.filter((line, at) => masked[at] !== line).map((line) => `${path}: ${line}`));
  }
  // Mostly badges with a token in their address, and passwords of examples.
  expect(changed.length, changed.join("\n")).toBeLessThan((8 * size) / 1e6);
});
