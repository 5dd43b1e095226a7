/** How bad a line is: 2 an error, 1 a warning, 0 else. */
export type Rank = 0 | 1 | 2;

export interface Classified {
  rank: Rank;
  /** Without time and level. */
  message: string;
}

/** Forms of log lines, each with a function that takes the line and the same without its time. */
const forms = [classifyJson, classifyAccess, classifyKlog, classifyPairs, classifyLevel];

export function classify(line: string, text: string): Classified {
  for (const form of forms) {
    const classified = form(line, text);
    if (classified) return classified;
  }
  if (
    /\b(?:error|exception|fatal|panic|segfault|traceback|failed|failure|out of memory|oom-kill)/i.test(text)
  )
    return { rank: 2, message: text };
  return { rank: /\b(?:warning|deprecated|timed? ?out|retrying)\b/i.test(text) ? 1 : 0, message: text };
}

function classifyJson(line: string): Classified | undefined {
  if (!/^\s*\{.*\}\s*$/s.test(line)) return undefined;
  const level = /"(?:level|severity|lvl|log\.level|levelname)"\s*:\s*"?(\w+)/i.exec(line)?.[1] ?? "";
  const message = /"(?:msg|message|event|error)"\s*:\s*"((?:[^"\\]|\\.)*)"/is.exec(line)?.[1] ?? line;
  return { rank: rankOf(level), message: message.replaceAll(/\\(["\\/])/g, "$1").replaceAll(/\\[nt]/g, " ") };
}

function classifyAccess(line: string): Classified | undefined {
  const [, target, status] = /"[A-Z]+ (\S+)[^"]*" (\d{3}) /.exec(line) ?? [];
  if (target === undefined || status === undefined) return undefined;
  const rank = status >= "500" ? 2 : status >= "400" ? 1 : 0;
  return { rank, message: `HTTP ${status} ${target.replace(/\?.*/s, "")}` };
}

function classifyKlog(line: string, text: string): Classified | undefined {
  const letter = /^([EWFI])\d{4} \d\d:/.exec(line)?.[1];
  if (letter === undefined) return undefined;
  const rank = letter === "I" ? 0 : letter === "W" ? 1 : 2;
  return { rank, message: text.replace(/^\S+\s+\S+\]\s*/, "") };
}

function classifyPairs(line: string, text: string): Classified | undefined {
  const level = /\b(?:level|lvl|severity)=["']?(\w+)/i.exec(line)?.[1];
  if (level === undefined) return undefined;
  const message = /\b(?:msg|message|err|error)="((?:[^"\\]|\\.)*)"/is.exec(line)?.[1];
  return { rank: rankOf(level), message: message ?? text };
}

const levelWord =
  /(?<![\w-])\[?<?(EMERG(?:ENCY)?|ALERT|CRIT(?:ICAL)?|FATAL|PANIC|SEVERE|ERROR|ERR|WARN(?:ING)?|NOTICE|INFO|DEBUG|TRACE|FINE)\b>?\]?:?\s*/;
const bracketedLevel = /\[(emerg|alert|crit|error|warn|notice|info|debug)\]\s*/;

/** A level stands near the beginning; the word "error" later in a sentence is none. */
function classifyLevel(_line: string, text: string): Classified | undefined {
  const found = levelWord.exec(text.slice(0, 80)) ?? bracketedLevel.exec(text.slice(0, 40));
  if (found === null) return undefined;
  return { rank: rankOf(found[1] ?? ""), message: text.slice(found.index + found[0].length) || text };
}

function rankOf(name: string): Rank {
  // The numbers are those of pino and bunyan.
  if (/^\d+$/.test(name)) return Number(name) >= 50 ? 2 : Number(name) >= 40 ? 1 : 0;
  if (/^(?:emerg|alert|crit|fatal|panic|severe|err)/i.test(name)) return 2;
  return /^warn/i.test(name) ? 1 : 0;
}

/** An id of hexadecimal digits that happens to have no number, and is no English word: longer ones are not. */
const letterId = /\b(?!(?:acceded?|beaded|decade|defaced?|effaced?|facaded?)\b)[a-f]{6,}\b/gi;

/** What two lines of one cause have in common: everything that varies is replaced. */
export function normalForm(text: string): string {
  const addressed = text.includes("@")
    ? text.replaceAll(/[\p{L}\p{M}\p{N}_.+-]+@[\w-]+\.[\w.]+/gu, "<mail>")
    : text;
  return (
    addressed
      .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "<uuid>")
      .replaceAll(/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b/g, "<ip>")
      .replaceAll(/\b0x[0-9a-f]+\b/gi, "<hex>")
      // As a number: among ids of hexadecimal digits some have no letter.
      .replaceAll(/\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{4,}\b/gi, "<n>")
      .replaceAll(letterId, "<n>")
      .replaceAll(/"[^"]{1,200}"|'[^']{1,200}'/g, "<text>")
      .replaceAll(/\d+/g, "<n>")
      .replaceAll(/(?:<n>[.,:]?)+(?=<n>)/g, "")
      .replaceAll(/\s+/g, " ")
      .replaceAll(/^ | $/g, "")
  );
}

/** The line of a stack trace that names the cause: the last "Caused by", or the last line of a Python traceback. */
export function causeOf(trace: readonly string[]): string | undefined {
  const caused = trace.findLast((line) => /^\s*Caused by/.test(line));
  if (caused !== undefined) return caused.trimStart();
  const last = trace.at(-1);
  return last !== undefined && /^[A-Za-z_][\w.]*(?:Error|Exception|Warning|Interrupt|Exit)\b/.test(last)
    ? last
    : undefined;
}
