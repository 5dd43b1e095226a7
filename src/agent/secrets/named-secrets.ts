/** From `start` up to, not including, `end`. */
export interface Span {
  start: number;
  end: number;
}

/** A secret that is told by its name or place. `word` is where the name may begin, as far as a stream must know it. */
interface NamedSecret extends Span {
  word: number;
  isSecret: boolean;
}

/**
 * Text is hostile: what comes before the separator is bounded, and what comes behind it is either part of the match,
 * which is not read again, or ends at the next quote, blank or line.
 */
const name =
  /(?:[Pp]ass(?:[Ww]or[dt]|[Ww]d|[Pp]hrase)?|PASS(?:WORD|WD|PHRASE)?|PASSWORT|[Pp]wd|PWD|[Ss]ecret|SECRET|[Tt]oken|TOKEN|(?:[Aa]pi|API|[Aa]ccess|ACCESS|[Pp]rivate|PRIVATE|[Aa]ccount|ACCOUNT|[Aa]uth|AUTH|[Ss]igning|SIGNING|[Ee]ncryption|ENCRYPTION|[Mm]aster|MASTER|[Ss]ession|SESSION|[Aa]pp|APP)[_-]?(?:[Kk]ey|KEY)|[Cc]redentials?|CREDENTIALS?|(?<=_)auth|(?<=")auth(?=\\{0,3}"))(?:s?[_-][A-Za-z0-9]{1,20}|[A-Z][a-z0-9]{1,20}|[0-9]{1,3}){0,3}/;

const matchQuoted = (quote: string) =>
  `\\\\{0,3}${quote}(?:[^${quote}\\\\\\r\\n]|\\\\[^${quote}\\r\\n])*(?:\\\\{0,3}${quote}|$)`;
const value = `(${matchQuoted('"')}|${matchQuoted("'")}|[^\\s"'\`,;<>(){}\\[\\]\\\\|]+)([(\\[<{]?)`;
/** With what stands before the next line where its number is shown, as by `read_file`, or its file, as by `grep`. */
const lineEnd = `\\r?\\n(?:[ \\t]{0,8}\\d{1,7}[|\\t]|(?:[\\w./-]{1,200}:){1,2})?`;
const end = `\\\\{0,3}["']?\\]?`;
/** As JSON writes one, too. */
const openingQuote = `\\\\{0,3}["']?`;

/** Each with the value, and what follows it. Tried only where a trigger is. */
const patterns = {
  assignment: sticky(`${name.source}${end}[ \\t]{0,8}(?:=>|:=|[=:](?![=:~]))[ \\t]{0,8}${value}`),
  // The name is the value of one field, the secret that of the next; or the secret is a block of YAML below its name.
  pair: sticky(
    `${name.source}${end}(?:[ \\t]{0,8},?[ \\t]{0,8}(?:${lineEnd})?[ \\t]{0,64}\\\\{0,3}["']?[Vv]alue${end}[ \\t]{0,4}[:=]|[ \\t]{0,8}:[ \\t]{0,8}[|>][+-]?[ \\t]{0,8}${lineEnd})[ \\t]{0,64}${value}`,
  ),
  element: sticky(`${name.source}>([^\\s<>"'\`{}]{1,256})(?=<\\/)()`),
  option: sticky(
    `(?<=--[\\w-]{0,24})(?:password|passwd|passphrase|secret|token|api-key|access-key|auth-key)[ \\t]{1,4}(?!-)${value}`,
  ),
  scheme: sticky(`(?:[Bb]earer|[Bb]asic|BEARER|BASIC) {1,4}${value}`),
  authorization: sticky(
    `(?:[Aa]uthorization|AUTHORIZATION)${end}[ \\t]{0,4}[:=][ \\t]{0,4}(?!\\\\{0,3}["']?(?:[Bb]earer|[Bb]asic) )\\\\{0,3}["']?(?:[A-Za-z]{1,20} {1,4})?${value}`,
  ),
  cookie: sticky(
    `[Cc]ookie\\\\{0,3}["']?[ \\t]{0,4}:[ \\t]{0,4}\\\\{0,3}["']?([\\w.-]{1,64}=[^\\r\\n"'\\\\]{4,})()`,
  ),
  url: sticky(`:\\/\\/[^\\s:/@"'<>]{0,128}:([^\\s/@"'<>\`]{1,256})(?=@)()`),
  // As a netrc file writes it, or people do. It has no context: a stream cannot look back.
  netrc: sticky(`(?<![\\w.-])password[ \\t]{1,4}${value}`),
  // The options by which programs take a password beside or without a name for it.
  command: sticky(
    `(?:${[
      `curl[ \\t][^\\r\\n|;&]{0,96}?(?<=[ \\t])(?:-[uU]|--user|--proxy-user)[ \\t=]{0,2}${openingQuote}[^\\s:"']{1,64}:`,
      `(?:mysql(?:dump|admin|import)?|mariadb(?:-dump)?)[ \\t][^\\r\\n|;&]{0,96}?(?<=[ \\t])-p${openingQuote}`,
      `(?:sshpass|mongosh|mongodump)[ \\t][^\\r\\n|;&]{0,96}?(?<=[ \\t])-p[ \\t]{0,2}${openingQuote}`,
      `(?:docker|podman|registry|az)[ \\t]+login[ \\t][^\\r\\n|;&]{0,96}?(?<=[ \\t])-p[ \\t]{0,2}${openingQuote}`,
      `redis-cli[ \\t][^\\r\\n|;&]{0,96}?(?<=[ \\t])-a[ \\t]{1,2}${openingQuote}`,
      `smbclient[ \\t][^\\r\\n|;&]{0,96}?(?<=[ \\t])-U[ \\t]{0,2}${openingQuote}[^\\s%"']{1,64}%`,
    ].join("|")})((?!-)(?:[^\\s"'\`|;&\\\\]|\\\\[^\\s"'\\0])+)()`,
  ),
};
type Kind = keyof typeof patterns;

function sticky(source: string): RegExp {
  return new RegExp(source, "y");
}

/** Programs that take a password by an option of one letter. */
const programs =
  "curl|mysql(?:dump|admin|import)?|mariadb(?:-dump)?|sshpass|mongosh|mongodump|docker|podman|registry|az|redis-cli|smbclient";
const program = `(?<![\\w-])(?:${programs})(?![\\w.-])`;

/** Where one may begin. Reading for these few words is many times faster than trying the patterns everywhere. */
const beginnings = new RegExp(
  `pass|pwd|secret|token|api|access|private|account|auth|signing|encryption|master|session|app[_-]?key|credential|cookie|bearer|basic|:\\/\\/|${program}`,
  "gi",
);

/** What may become one in a stream. */
const trigger = new RegExp(
  `pass|pwd|secret|token|key|auth|cookie|credential|bearer|basic|:\\/\\/|${program}`,
  "gi",
);
const triggerChars = 256;
const isProgram = new RegExp(`^(?:${programs})$`, "i");

const byName: readonly Kind[] = ["assignment", "pair", "element", "option"];

/** The line before the last ends with a name whose secret the last may bring. */
const openPair = new RegExp(
  `${name.source}${end}[ \\t]{0,8}(?:,|:[ \\t]{0,8}[|>][+-]?)?[ \\t]{0,8}\\r?\\n[^\\n]*$`,
);

function kindsAt(beginning: string): readonly Kind[] {
  switch (beginning.toLowerCase()) {
    case "://":
      return ["url"];
    case "bearer":
    case "basic":
      return ["scheme"];
    case "cookie":
      return ["cookie"];
    case "auth":
      return ["authorization", ...byName];
    case "pass":
      return [...byName, "netrc"];
    default:
      return isProgram.test(beginning) ? ["command"] : byName;
  }
}

/** Secrets that are told by their name: in assignments, options, headers and addresses. Only the values. */
export function findNamedSecrets(text: string): Span[] {
  if (text.search(beginnings) < 0) return [];
  return [...listNamed(text)].filter(({ isSecret }) => isSecret);
}

/** Where what may still become a named secret begins; the text's length where nothing may. */
export function findOpenName(text: string): number {
  let open = text.length;
  for (const { word, end: last } of listNamed(text)) if (last === text.length) open = Math.min(open, word);
  // The beginning of `://`, and the quote before a name.
  open = Math.min(open, text.length - (/(?::\/?|["'])$/.exec(text.slice(-2))?.[0].length ?? 0));
  const tail = text.slice(-triggerChars);
  const pair = openPair.exec(tail);
  if (pair) open = Math.min(open, startOfName(text, text.length - tail.length + pair.index));
  const from = Math.max(text.lastIndexOf("\n") + 1, text.length - triggerChars, 0);
  const [found] = text.slice(from).matchAll(trigger);
  if (!found) return open;
  const start = startOfName(text, from + found.index);
  return Math.min(open, /["']/.test(text[start - 1] ?? "") ? start - 1 : start);
}

function* listNamed(text: string): Generator<NamedSecret> {
  let done = 0;
  for (const { index, 0: beginning } of text.matchAll(beginnings)) {
    if (index < done) continue;
    for (const kind of kindsAt(beginning)) {
      patterns[kind].lastIndex = index;
      const match = patterns[kind].exec(text);
      if (!match) continue;
      const found = readMatch(text, kind, match);
      done = found.end;
      yield found;
      break;
    }
  }
}

function readMatch(text: string, kind: Kind, match: RegExpExecArray): NamedSecret {
  const [whole, found = "", next = ""] = match;
  const matched = match.index + whole.length;
  const last = matched - next.length;
  const opening = /^\\{0,3}["']/.exec(found)?.[0] ?? "";
  const closing = opening === "" ? "" : (/\\{0,3}["']$/.exec(found.slice(opening.length))?.[0] ?? "");
  const inner = found.slice(opening.length, found.length - closing.length);
  const start = last - found.length + opening.length;
  const word = startOfName(text, match.index);
  const isSecret = isSecretValue(inner, {
    kind,
    isQuoted: opening !== "",
    isShell:
      /^[A-Z][A-Z0-9_]*$/.test(text.slice(word, match.index + 3)) &&
      whole.at(-found.length - next.length - 1) === "=",
    next: next || (opening || kind === "element" ? "" : (text[last] ?? "")),
  });
  return { word, start, end: matched === text.length ? matched : start + inner.length, isSecret };
}

/** The beginning of the word, as far as a stream holds a word back. */
function startOfName(text: string, at: number): number {
  return at - (/[\w.-]{0,64}$/.exec(text.slice(Math.max(0, at - 64), at))?.[0].length ?? 0);
}

const placeholder = new RegExp(
  [
    // References, templates and what was masked or left out
    /^\[masked\]|\$[{(A-Za-z_]|\{\{|%\(|^%[A-Z_]+%$|<|\.\.\.|…/,
    /^(?:process|os|env|import|secrets?|self|this|config|req|args|options|settings)\./,
    // Runs of one sign
    /^(?:x+|\*+|•+|-+|_+)$/,
    /^(?:my|the|some|an?|new|old)[-_ ]/,
    /^(?:your|test|fake|dummy|example|sample|demo|default|placeholder|change|replace|insert|redacted|masked|hidden)(?:[^a-z]|$|me$|[a-z]*[-_ ])/,
    /^(?:none|null|nil|true|false|undefined|string|number|boolean|required|optional)$/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "i",
);
const word = /^(?:pass|pw|passwd|password|pwd|secret|token|key|user|admin|guest|root|postgres|redis)$/i;

interface Place {
  kind: Kind;
  isQuoted: boolean;
  /** As an environment file or a shell writes it: `NAME=value`. */
  isShell: boolean;
  /** What follows, which tells a call or an index. */
  next: string;
}

/** Whether a value that stands where a secret would is one, and not code, a reference or a placeholder. */
function isSecretValue(text: string, place: Place): boolean {
  if (place.kind === "cookie") return /=[^;\s]{8,}/.test(text);
  if (placeholder.test(text) || word.test(text) || /^(.)\1*$/.test(text)) return false;
  switch (place.kind) {
    case "url":
      return text.length >= (/^[A-Za-z]+$/.test(text) ? 8 : 3);
    case "command":
      return text.length >= 6 && !/^[A-Z][A-Z_]*$/.test(text);
    case "netrc":
    case "scheme":
    case "authorization":
      return text.length >= 8 && mixes(text);
    case "assignment":
    case "pair":
    case "element":
    case "option":
      return text.length >= 6 && isAssignedSecret(text, place);
  }
}

function isAssignedSecret(text: string, { isQuoted, isShell, next }: Place): boolean {
  if (/^[([<{]/.test(next) || /^(?:\.{0,2}\/|[a-z]+:\/\/|\d+(?:\.\d+)*$)/i.test(text)) return false;
  if (isShell) return !/^[A-Z][A-Z_]*$/.test(text);
  // A sentence, or a name in code such as `config.token` or `readToken`.
  if (/\s/.test(text)) return isQuoted && /\d/.test(text) && /[^\w\s.,:'()/-]/.test(text) && text.length < 64;
  const isName = !isQuoted && /^[A-Za-z_$][\w$]*(?:[.?!][\w$.?!]*)?[:;,]?$/.test(text);
  return !(isName && digits(text) < 2) && mixes(text);
}

const digits = (text: string) => text.replace(/\D/g, "").length;

/** Letters with digits, or small with large letters in no order that a name has. */
function mixes(text: string): boolean {
  if (/\d/.test(text) && /[A-Za-z]/.test(text)) return !/^[a-z]+(?:[-_.][a-z]+)*[-_]?v?\d{1,2}$/i.test(text);
  return /[A-Z]{2}[a-z]|[a-z][A-Z][A-Z][a-z]|[A-Za-z][!#%^&*+=~][A-Za-z]/.test(text) && text.length >= 8;
}
