/**
 * The ways in which a secret shows up in text: itself, reversed, in base64 (also in the middle of a longer text, at each
 * of the three alignments, and that once more in base64), base64url, hex, URL encoding (also of every byte), JSON, and
 * as escapes of a program's text (\\x41, \\u0041, \\101). Without line breaks.
 */
export function listSecretForms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString("hex");
  const percent = encodeURIComponent(secret.toWellFormed());
  const base64 = [0, 1, 2].map((shift) => innerBase64(bytes, shift));
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    ...base64,
    ...base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_")),
    hex,
    hex.toUpperCase(),
    percent,
    percent.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    percent.replaceAll("%20", "+"),
    Array.from(secret).toReversed().join(""),
    ...base64.flatMap((text) => [0, 1, 2].map((shift) => innerBase64(Buffer.from(text), shift))),
    ...listByteForms(bytes),
    ...["\\u", "\\U"].flatMap((escape) => spell(utf16(secret), escape, 16, 4)),
  ];
  return forms.map((form) => form.replace(/[\r\n]+/g, ""));
}

function listByteForms(bytes: Buffer): string[] {
  const all = [...bytes];
  return [
    ...["%", "\\x", "0x"].flatMap((before) => spell(all, before, 16, 2)),
    ...spell(all, "\\", 8, 3),
    ...spell(all, "\\0", 8, 3),
  ];
}

/** The numbers of its bytes, in decimal and in octal, without what stands between them in a list. */
export function listNumberForms(secret: string): string[] {
  const all = [...Buffer.from(secret)];
  return [all.join(""), all.map((byte) => byte.toString(8).padStart(3, "0")).join("")];
}

const utf16 = (text: string) => Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));

/** Each number behind `before`, in small and in capital letters. */
function spell(numbers: readonly number[], before: string, radix: number, digits: number): string[] {
  const small = numbers.map((number) => number.toString(radix).padStart(digits, "0"));
  return [small, small.map((text) => text.toUpperCase())].map((all) =>
    all.map((text) => before + text).join(""),
  );
}

/** The base64 characters that depend on these bytes alone when `shift` bytes (modulo 3) come before them. */
function innerBase64(bytes: Buffer, shift: number): string {
  const encoded = Buffer.concat([Buffer.alloc(shift), bytes]).toString("base64");
  return encoded.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6));
}

/**
 * Tokens that are recognised by their own form. The forms are those of the rules of gitleaks (config/gitleaks.toml) and
 * trufflehog (pkg/detectors), and for Discord those of detect-secrets (plugins/discord.py); lengths are minima here where
 * a vendor has changed them before. Text is hostile, so no pattern may read the same stretch again
 * from many starts: a run that something must follow is bounded, or cannot contain its own beginning.
 */
const shapes = [
  // Slack: bot, user, app-level and refresh tokens; incoming webhooks
  /xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}/,
  /xapp-\d-[A-Za-z0-9-]{10,}/,
  /hooks\.slack\.com\/(?:services|workflows|triggers)\/[A-Za-z0-9/]{20,}/,
  // Microsoft Teams: incoming webhooks
  /[a-z0-9]{1,60}\.webhook\.office\.com\/webhookb2\/[\w@/-]{60,250}/,
  // Discord: bot tokens and webhooks
  /[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}/,
  /discord(?:app)?\.com\/api\/webhooks\/\d+\/[\w-]{20,}/,
  // Telegram bots
  /\d{5,16}:A[\w-]{34}(?![\w-])/,
  // Anthropic, OpenAI and those that follow them; xAI, Groq, Perplexity, Replicate, Hugging Face
  /sk-(?=[\w-]{0,40}\d)[\w-]{20,}/,
  /xai-\w{40,}/,
  /gsk_[A-Za-z0-9]{40,}/,
  /pplx-[A-Za-z0-9]{40,}/,
  /r8_[\w-]{37,}/,
  /hf_[A-Za-z0-9]{30,}/,
  /api_org_[A-Za-z0-9]{34}/,
  // Facebook, X (Twitter), Typeform
  /EAA[MC][A-Za-z0-9]{100,}/,
  /A{22}[A-Za-z0-9%]{80,100}(?![A-Za-z0-9%])/,
  /tfp_[\w.=-]{59}/,
  // Alibaba Cloud, Yandex Cloud, Adobe, MaxMind, ClickHouse Cloud, Harness, Defined Networking, SettleMint, Authress
  /LTAI[A-Za-z0-9]{20}(?![A-Za-z0-9])/,
  /AQVN[\w-]{35,38}(?![\w-])/,
  /p8e-[A-Za-z0-9]{32}/,
  /[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk/,
  /4b1d[A-Za-z0-9]{38}(?![A-Za-z0-9])/,
  /(?:pat|sat)\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}/,
  /dnkey-[a-z0-9=_-]{26}-[a-z0-9=_-]{52}/,
  /sm_(?:aat|pat|sat)_[A-Za-z0-9]{16}/,
  /(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[\w+/=-]{30,120}/,
  // Plaid, Flutterwave, Duffel
  /access-(?:sandbox|development|production)-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}/,
  /FLWSECK(?:_TEST)?-[a-h0-9]{12,32}(?:-X)?/,
  /duffel_(?:test|live)_[\w=-]{43}/,
  // Stripe, Square, Shopify
  /[rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}/,
  /whsec_[A-Za-z0-9+/=]{24,}/,
  /sq0(?:atp|csp)-[\w-]{22,}/,
  /EAAA[\w-]{55,60}(?![\w-])/,
  /shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}/,
  // GitHub, GitLab, Atlassian, Bitbucket
  // (An App's installation token: its id, then a JSON Web Token.
  // https://github.blog/changelog/2026-05-15-github-app-installation-tokens-per-request-override-header/)
  /gh[pousr]_\d{1,20}_eyJ[\w-]{8,}(?:\.[\w-]*){0,2}/,
  /gh[pousr]_[A-Za-z0-9]{36,}/,
  /github_pat_\w{22,}/,
  /gl(?:pat|ptt|rt|rtr|dt|cbt|soat|imt|agent|ft|oas|ffct)-[\w-]{20,}(?:\.[0-9a-z]{9})?/,
  /GR1348941[\w-]{20}/,
  /_gitlab_session=[a-f0-9]{32}/,
  /AT(?:ATT|BB|CTT)3?[\w=-]{24,}/,
  // npm, PyPI, RubyGems, Docker
  /npm_[A-Za-z0-9]{36,}/,
  /pypi-[\w-]{40,}/,
  /rubygems_[a-f0-9]{48}/,
  /dckr_(?:pat|oat)_[\w-]{20,}/,
  // AWS, Google, Azure, Cloudflare, DigitalOcean, Fly, Heroku
  /(?:A3T[0-9A-Z]|AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}/,
  /ABSK[A-Za-z0-9+/]{100,}={0,2}/,
  /bedrock-api-key-[A-Za-z0-9+/]{40,}={0,2}/,
  /AIza[\w-]{35}/,
  /ya29\.[\w-]{20,}/,
  /GOCSPX-[\w-]{28}/,
  /(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{32,88}={0,2}/,
  /sig=[A-Za-z0-9%+/]{40,80}(?:%3[Dd]|=)/,
  /[\w.~]{3}\dQ~[\w.~-]{31,34}/,
  /v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}/,
  /do[opr]_v1_[a-f0-9]{64}/,
  /fo1_[\w-]{43}/,
  /fm(?:1[ar]|2)_[A-Za-z0-9+/]{40,}={0,3}/,
  /HRKU-[\w-]{36,}/,
  // SendGrid, Twilio, Mailgun, Brevo, Mailchimp, EasyPost, Shippo
  /SG\.[\w-]{16,}\.[\w-]{16,}/,
  /SK[0-9a-fA-F]{32}(?![0-9a-fA-F])/,
  /key-[a-f0-9]{32}(?![0-9a-f])/,
  /xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}/,
  /[a-f0-9]{32}-us\d{1,2}(?!\d)/,
  /EZ[AT]K[A-Za-z0-9]{54}/,
  /shippo_(?:live|test)_[a-fA-F0-9]{40}/,
  // Linear, Notion, Figma, Airtable, Postman, HubSpot, Dropbox, Frame.io, ReadMe
  /lin_(?:api|oauth)_[A-Za-z0-9]{32,}/,
  /(?:ntn_|secret_)[A-Za-z0-9]{43,}/,
  /fig[dour]_[\w-]{40,}/,
  /pat[A-Za-z0-9]{14}\.[a-f0-9]{64}/,
  /PMAK-[a-f0-9]{24}-[a-f0-9]{34}/,
  /pat-(?:na|eu)\d-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}/,
  /sl\.(?:u\.)?[\w-]{130,}/,
  /fio-u-[\w=-]{64}/,
  /rdme_[a-z0-9]{70}/,
  // New Relic, Datadog, Grafana, Sentry, Databricks, PlanetScale, Pulumi, Doppler, Supabase
  /NR(?:AK|II|JS|RA|AA)-[\w-]{19,}/,
  /dd(?:pat|app)_[A-Za-z0-9]{30,}/,
  /gl(?:sa|c)_[A-Za-z0-9+/=_]{30,}/,
  /eyJrIjoi[A-Za-z0-9]{70,}={0,3}/,
  /sntry[su]_[A-Za-z0-9+/=_]{40,}/,
  /dapi[a-f0-9]{32}(?:-\d)?/,
  /pscale_(?:tkn|pw|oauth)_[\w.=-]{32,}/,
  /pul-[a-f0-9]{40}/,
  /dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,}/,
  /sbp_[a-f0-9]{40}/,
  /sb_secret_[\w-]{22,}/,
  // CircleCI, Buildkite, Netlify, Artifactory, Vercel, SonarQube, Sourcegraph, Octopus, Prefect, OpenShift, Scalingo,
  // Infracost, Clojars, Dynatrace; Tavily, NVIDIA, LangSmith
  /CCIPAT_[A-Za-z0-9]{22}_[a-fA-F0-9]{40}/,
  /bkua_[a-z0-9]{40}/,
  /nfp_\w{36,}/,
  /AKCp[A-Za-z0-9]{69}/,
  /cmVmd[A-Za-z0-9]{59}(?![A-Za-z0-9])/,
  /vercel_blob_rw_[A-Za-z0-9]{16}_[A-Za-z0-9]{30}/,
  /sq[upa]_[a-z0-9=_-]{40}/,
  /sgp_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40}/,
  /API-[A-Z0-9]{26}(?![A-Z0-9])/,
  /pnu_[A-Za-z0-9]{36}/,
  /sha256~[\w-]{43}/,
  /tk-us-[\w-]{48}/,
  /ico-[A-Za-z0-9]{32}(?![A-Za-z0-9])/,
  /CLOJARS_[a-z0-9]{60}/,
  /dt0c01\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}/,
  /nvapi-[\w-]{64}/,
  /lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}/,
  /tvly-(?=[\w-]{0,40}\d)[\w-]{20,}/,
  // Terraform, Vault, Tailscale, age, 1Password
  /[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,70}/,
  /ops_eyJ[A-Za-z0-9+/]{250,}={0,3}/,
  /A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}/,
  /hv[sbr]\.[\w-]{24,}/,
  /tskey-[a-z]{1,12}-[A-Za-z0-9]{6,}-[A-Za-z0-9]{16,}/,
  /AGE-SECRET-KEY-1[0-9A-Z]{58}/,
  // JSON Web Tokens
  /(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*/,
];

/** Line breaks and blanks, also inside a JSON string, whose letters are taken out before. */
const keySpace = String.raw`(?:\\\0|\s)`;

const keyHeader = "(?:Proc-Type|DEK-Info|Version|Comment):";
const keyFile = String.raw`(?:(?!-?${keyHeader})[\w./-]{1,200}:){1,2}`;

/**
 * What parts the lines of a key, with what programs that show lines put before each: `read_file` and `cat -n` its number,
 * `grep` its file too, a difference or a quotation a sign. One line between may have nothing else.
 */
const keyBreak =
  String.raw`${keySpace}*(?:(?:${keyFile}|\d{1,7}[|\t]|[>-])${keySpace}+)?` +
  String.raw`(?:${keyFile})?(?:\d{1,7}[|\t])?(?:[>-] ?)?`;

/** A private key, also when its end was cut off or when it is inside a JSON string. */
const privateKey =
  String.raw`-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----` +
  String.raw`(?:${keyBreak}(?:${keyHeader}.*|[A-Za-z0-9+/=]{16,}))+` +
  String.raw`(?:${keyBreak}[A-Za-z0-9+/=]+(?:${keySpace}${keyBreak}=[A-Za-z0-9+/]{4})?(?=${keyBreak}-----END))?` +
  String.raw`(?:${keyBreak}-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?`;

/** All shapes in one pattern, so that a text is read once. */
export const secretShapes = new RegExp(
  `(?<![A-Za-z0-9])(?:${shapes.map((shape) => shape.source).join("|")})|${privateKey}`,
  "g",
);
