import { prosePath, sourcePath, testPath } from "./paths.mts";

export type Level = "must" | "should" | "could";

export interface Rule {
  level: Level;
  text: string;
  match: RegExp;
  /** Only in files with such a path. */
  in?: RegExp;
  /** Not in files with such a path. */
  not?: RegExp;
  /** What matches is never printed. */
  isSecret?: true;
}

/** Known risks in a new line. */
export const rules: readonly Rule[] = [
  { level: "must", isSecret: true, text: "a private key", match: /-----BEGIN [A-Z ]*PRIVATE KEY-----/ },
  {
    level: "must",
    isSecret: true,
    text: "what looks like an access token",
    match:
      /\b(?:AKIA[0-9A-Z]{16}|xox[abeprs]-[0-9A-Za-z-]{10,}|xapp-[0-9A-Za-z-]{10,}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}|sk-(?:ant-|proj-)?[A-Za-z0-9_-]{24,}|AIza[\w-]{35}|npm_[A-Za-z0-9]{36})/,
  },
  {
    level: "must",
    isSecret: true,
    text: "a literal password or key",
    not: testPath,
    match:
      /(?:passw(?:or)?d|secret|token|api_?key|private_?key)["']?\s*(?:[:=]|=>)\s*["'](?!\$|\{|<|%|env|process|\*)[^"'\s]{8,}["']/i,
  },
  { level: "must", text: "a conflict mark", match: /^(?:<{7}|>{7}|\|{7})(?: |$)/ },
  {
    level: "must",
    text: "a focused test hides the others",
    in: testPath,
    match: /\b(?:describe|it|test|context)\.only\s*\(|\bf(?:describe|it)\s*\(/,
  },
  {
    level: "must",
    text: "certificate checks are switched off",
    match:
      /rejectUnauthorized\s*:\s*false|verify\s*=\s*False|InsecureSkipVerify\s*:\s*true|NODE_TLS_REJECT_UNAUTHORIZED|ssl_verify\s*=>?\s*(?:false|0)|CURLOPT_SSL_VERIFYPEER\s*,\s*(?:false|0)|\bcurl\b.*\s(?:-k|--insecure)\b/s,
  },
  {
    level: "should",
    text: "SQL built from text",
    match:
      /["'`]\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM)\b[^"'`]*["'`]\s*(?:\+|%|\.)\s*\w|f["']\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM)\b[^"']*\{|`\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM)\b[^`]*\$\{/i,
  },
  {
    level: "should",
    text: "text run as code or through a shell",
    in: sourcePath,
    match:
      /(?<![\w.])eval\s*\(|new Function\s*\(|shell\s*=\s*True|os\.system\s*\(|child_process.*\bexec(?:Sync)?\s*\(\s*`|\bexec(?:Sync)?\s*\(\s*`[^`]*\$\{|pickle\.loads?\s*\(|yaml\.load\s*\((?!.*Safe)/s,
  },
  {
    level: "should",
    text: "HTML from text",
    match:
      /\.innerHTML\s*=(?!=)|dangerouslySetInnerHTML|\bv-html=|document\.write\s*\(|\|\s*safe\b|html_safe/,
  },
  {
    level: "should",
    text: "an error is swallowed",
    in: sourcePath,
    match:
      /catch\s*(?:\([^)]*\))?\s*\{\s*\}|\.catch\(\s*\(\s*\w*\s*\)\s*=>\s*\{\s*\}\s*\)|except(?:\s+\w+)?\s*:\s*(?:pass)?\s*$|rescue\s*(?:=>\s*\w+)?\s*;?\s*nil/,
  },
  {
    level: "should",
    text: "a test is skipped",
    in: testPath,
    match:
      /\b(?:describe|it|test|context)\.(?:skip|todo)\b|\bx(?:describe|it)\s*\(|@(?:Ignore|Disabled)\b|pytest\.mark\.(?:skip|xfail)|\bt\.Skip\(/,
  },
  {
    level: "should",
    text: "a check is switched off",
    match:
      /@ts-(?:ignore|nocheck|expect-error)|eslint-disable|oxlint-disable|biome-ignore|#\s*type:\s*ignore|#\s*noqa|@SuppressWarnings|#\s*rubocop:disable|\/\/\s*nolint|#!?\[allow\(/,
  },
  {
    level: "should",
    text: "open permissions",
    match: /chmod\s+(?:-R\s+)?(?:0?777|a\+rwx)|0o?777\b|Access-Control-Allow-Origin["']?\s*[,:]\s*["']\*/,
  },
  {
    level: "should",
    text: "a debugger statement",
    in: sourcePath,
    match: /^\s*debugger;?\s*$|\bbinding\.pry\b|\bbreakpoint\(\)|\bpdb\.set_trace\(|\bdd\(|\bvar_dump\(/,
  },
  {
    level: "could",
    text: "debug output",
    in: sourcePath,
    not: testPath,
    match:
      /\bconsole\.(?:log|debug|trace)\(|^\s*print\(|^\s*fmt\.Print(?:ln|f)?\(|\bdbg!\(|System\.out\.print/,
  },
  { level: "could", text: "an open end", not: prosePath, match: /\b(?:TODO|FIXME|XXX|HACK)\b/ },
  {
    level: "could",
    text: "a test waits for time",
    in: testPath,
    match: /\bsleep\(|\bsetTimeout\(|time\.Sleep\(|Thread\.sleep\(|waitForTimeout\(/,
  },
  {
    level: "could",
    text: "a commented-out line of code",
    in: sourcePath,
    match: /^\s*(?:\/\/|#)\s*(?:const|let|var|return|if\s*\(|for\s*\(|import|await|def|func)\b.*[;:{(]\s*$/s,
  },
];
