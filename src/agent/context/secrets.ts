/**
 * The ways in which a secret shows up in text: itself, in base64 (also in the middle of a longer text, at each
 * of the three alignments), base64url, hex, URL encoding and JSON. Without line breaks.
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
  ];
  return forms.map((form) => form.replace(/[\r\n]+/g, ""));
}

/** The base64 characters that depend on these bytes alone when `shift` bytes (modulo 3) come before them. */
function innerBase64(bytes: Buffer, shift: number): string {
  const encoded = Buffer.concat([Buffer.alloc(shift), bytes]).toString("base64");
  return encoded.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6));
}

/**
 * Tokens that are recognised by their own form. Text is hostile, so no pattern may read the same stretch again
 * from many starts: a run that something must follow is bounded, or cannot contain its own beginning.
 */
const shapes = [
  // Slack: bot, user, app-level and refresh tokens; incoming webhooks
  /xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}/,
  /xapp-\d-[A-Za-z0-9-]{10,}/,
  /hooks\.slack\.com\/services\/[A-Za-z0-9/]{20,}/,
  // Discord: bot tokens and webhooks
  /[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}/,
  /discord(?:app)?\.com\/api\/webhooks\/\d+\/[\w-]{20,}/,
  // Anthropic, OpenAI and those that follow them; Stripe
  /sk-(?=[\w-]{0,40}\d)[\w-]{20,}/,
  /[rs]k_(?:live|test)_[A-Za-z0-9]{16,}/,
  // GitHub, GitLab, npm, PyPI, Hugging Face
  /gh[pousr]_[A-Za-z0-9]{36,}/,
  /github_pat_\w{22,}/,
  /glpat-[\w-]{20,}/,
  /npm_[A-Za-z0-9]{36,}/,
  /pypi-[\w-]{40,}/,
  /hf_[A-Za-z0-9]{30,}/,
  // AWS, Google, SendGrid
  /(?:AKIA|ASIA)[0-9A-Z]{16}/,
  /AIza[\w-]{35}/,
  /ya29\.[\w-]{20,}/,
  /SG\.[\w-]{16,}\.[\w-]{16,}/,
  // JSON Web Tokens
  /(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*/,
];

/** A private key, also when its end was cut off or when it is inside a JSON string. */
const privateKey =
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:(?:\\[nr]|\s)*(?:(?:Proc-Type|DEK-Info):.*|[A-Za-z0-9+/=]{16,}))+(?:(?:\\[nr]|\s)*[A-Za-z0-9+/=]+(?=(?:\\[nr]|\s)*-----END))?(?:(?:\\[nr]|\s)*-----END [A-Z ]{0,30}PRIVATE KEY-----)?/;

/** All shapes in one pattern, so that a text is read once. */
export const secretShapes = new RegExp(
  `(?<![A-Za-z0-9])(?:${shapes.map((shape) => shape.source).join("|")})|${privateKey.source}`,
  "g",
);
