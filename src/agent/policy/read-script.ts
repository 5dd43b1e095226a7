/** Deeper nesting is not followed but taken apart roughly. */
export const maxDepth = 12;

/** A simple command as it stands in a script. */
export interface ReadCommand {
  words: string[];
  /** Files that it writes by redirection. */
  writes: string[];
  /**
   * What here-strings, here-documents and `< <(…)` give it; undefined for a document, whose text is not taken apart.
   */
  given: (string | undefined)[];
  /** The command before the nearest pipe that stands before it in the same list. */
  fedBy: ReadCommand | undefined;
}

export interface ParsedScript {
  /** Each simple command, those inside substitutions too. */
  commands: ReadCommand[];
  /** False when quotes or a here-document leave open where commands begin. */
  isCertain: boolean;
}

/** Reads the shell's grammar of words, quotes, substitutions and separators. Linear in the script. */
export function readScript(script: string, depth: number): ParsedScript {
  const reader = new ScriptReader(script);
  reader.readList("", depth);
  return { commands: reader.commands, isCertain: reader.isCertain };
}

/** The words of a text without quotes. */
export function splitWords(text: string): string[] {
  return text.match(/\S+/g) ?? [];
}

class ScriptReader {
  readonly commands: ReadCommand[] = [];
  isCertain = true;
  readonly #script: string;
  #at = 0;

  constructor(script: string) {
    this.#script = script;
  }

  /** Reads commands until `end`, or to the end of the script; `fedBy` is what they read from. */
  readList(end: string, depth: number, fedBy?: ReadCommand): void {
    const list: ListState = { command: new CommandWords(), subshells: 0, last: undefined, fedBy };
    for (;;) {
      const char = this.#script[this.#at];
      if (char === undefined || (char === end && list.subshells === 0)) {
        if (char !== end && end !== "") this.isCertain = false;
        this.#at += 1;
        this.#endCommand(list);
        return;
      }
      const kind = tellKind(this.#script.charCodeAt(this.#at));
      if (kind === "plain") list.command.add(this.#readPlain());
      else if (kind === "separator") this.#readSeparator(char, list);
      else if (kind === "sign") this.#readSign(char, list.command, depth);
      else {
        list.command.endWord();
        this.#at += 1;
      }
    }
  }

  #readSeparator(char: string, list: ListState): void {
    if (char === "&" && this.#script[this.#at + 1] === ">") {
      this.#at += 1;
      this.#readRedirection(">", list.command);
      return;
    }
    this.#endCommand(list);
    if (char === "(") list.subshells += 1;
    if (char === ")") list.subshells = Math.max(0, list.subshells - 1);
    const isOr = char === "|" && this.#script[this.#at + 1] === "|";
    if (char === "|" && !isOr) list.fedBy = list.last;
    this.#at += isOr ? 2 : 1;
  }

  #endCommand(list: ListState): void {
    const read = list.command.take(list.fedBy);
    if (!read) return;
    // The parentheses of its patterns have no partner.
    if (read.words.includes("case")) this.isCertain = false;
    this.commands.push(read);
    list.last = read;
  }

  #readSign(char: string, command: CommandWords, depth: number): void {
    const next = this.#script[this.#at + 1];
    if (char === "#" && command.isBetweenWords) {
      this.#skipComment();
    } else if (isSubstitution(char, next)) {
      command.add(this.#readSubstitution(depth));
    } else if (char === "$" && next === "{") {
      command.add(this.#readRun(parameter));
    } else if (char === "$" && next === '"') {
      // To be translated, and otherwise as without the sign.
      this.#at += 1;
    } else if (char === "'" || char === '"' || (char === "$" && next === "'")) {
      command.addApart(this.#readQuoted(depth));
    } else if (char === "\\") {
      this.#readEscape(next, command);
    } else if (char === "<" || char === ">") {
      this.#readRedirection(char, command);
    } else {
      command.add(this.#readPlain());
    }
  }

  /** Reads the character that stands here and those behind it that mean themselves. */
  #readPlain(): string {
    const from = this.#at;
    do this.#at += 1;
    while (this.#at < this.#script.length && tellKind(this.#script.charCodeAt(this.#at)) === "plain");
    return this.#script.slice(from, this.#at);
  }

  /** Reads what the pattern says, from here on; where there is nothing of it, the character that stands here. */
  #readRun(run: RegExp): string {
    const from = this.#at;
    run.lastIndex = from;
    this.#at = run.test(this.#script) ? run.lastIndex : from + 1;
    return this.#script.slice(from, this.#at);
  }

  #skipComment(): void {
    const line = this.#script.indexOf("\n", this.#at);
    this.#at = line < 0 ? this.#script.length : line;
  }

  /** A backslash before a new line joins two lines. Before these it may be for backticks around it. */
  #readEscape(next: string | undefined, command: CommandWords): void {
    if (next === "`" || next === "\\") this.isCertain = false;
    if (next !== "\n") command.addApart(next ?? "");
    this.#at += 2;
  }

  #readRedirection(char: string, command: CommandWords): void {
    const following = this.#script.slice(this.#at, this.#at + 3);
    const operator = /^(<<<|<<-?|[<>][&>|]?)/.exec(following)?.[0] ?? char;
    if (operator === "<<" || operator === "<<-") this.isCertain = false;
    command.redirect(operator);
    this.#at += operator.length;
  }

  /** Reads `$(…)` and its like, and gives its text. */
  #readSubstitution(depth: number): string {
    const from = this.#at;
    const opening = this.#script[from];
    const known = this.commands.length;
    this.#at += opening === "`" ? 1 : 2;
    if (depth < maxDepth) {
      this.readList(opening === "`" ? "`" : ")", depth + 1, opening === ">" ? someCommand : undefined);
    } else {
      this.isCertain = false;
      this.#at = this.#script.length;
    }
    // `<()` is no file but nothing, as `$()` is.
    const isNothing = (opening === "<" || opening === ">") && this.commands.length === known;
    return isNothing && this.isCertain ? "$()" : this.#script.slice(from, this.#at);
  }

  /** Reads a quoted piece of a word, and gives its text. */
  #readQuoted(depth: number): string {
    const opening = this.#script[this.#at];
    const kind: Quotes = opening === '"' ? "double" : opening === "$" ? "ansi" : "single";
    const end = kind === "double" ? '"' : "'";
    let text = "";
    this.#at += kind === "ansi" ? 2 : 1;
    for (;;) {
      const char = this.#script[this.#at];
      if (char === end || char === undefined) {
        if (char === undefined) this.isCertain = false;
        this.#at += 1;
        return text;
      }
      text += this.#readQuotedPiece(char, kind, depth);
    }
  }

  #readQuotedPiece(char: string, kind: Quotes, depth: number): string {
    const next = this.#script[this.#at + 1];
    const code = kind === "ansi" ? ansiCode.exec(this.#script.slice(this.#at, this.#at + 10)) : null;
    if (code) {
      this.#at += code[0].length;
      return decodeAnsi(code[1] ?? "");
    }
    if (char === "\\" && kind !== "single") {
      if (next === "`") this.isCertain = false;
      this.#at += 2;
      return kind === "ansi" ? decodeAnsiLetter(next ?? "") : decodeInDouble(next ?? "");
    }
    if (kind === "double" && isSubstitution(char, next) && !"<>".includes(char))
      return this.#readSubstitution(depth);
    return this.#readRun(quotedRuns[kind]);
  }
}

/** Whatever writes into `>(…)`. */
const someCommand: ReadCommand = { words: [], writes: [], given: [], fedBy: undefined };

/** Where the reading of a list of commands stands. */
interface ListState {
  command: CommandWords;
  /** How many are open. */
  subshells: number;
  last: ReadCommand | undefined;
  /** The command before the latest pipe. */
  fedBy: ReadCommand | undefined;
}

/** `ansi` is `$'…'`: the only single quotes in which a backslash may stand before the quote. */
type Quotes = "single" | "double" | "ansi";

/** What a character outside quotes does: it stands for itself, parts words, parts commands, or something else. */
type CharKind = "plain" | "blank" | "separator" | "sign";

function tellKind(code: number): CharKind {
  return asciiKinds[code] ?? "plain";
}

function findKind(char: string): CharKind {
  if (/[;&|()\n]/.test(char)) return "separator";
  // Others, such as `\r` and the no-break space, belong to a word in a shell.
  if (/[ \t]/.test(char)) return "blank";
  return /[<>$`'"\\#]/.test(char) ? "sign" : "plain";
}

const asciiKinds = Array.from({ length: 128 }, (_, code) => findKind(String.fromCharCode(code)));

/** `${x:-git push}`, in which no blank or parenthesis parts anything, and nothing is substituted or quoted. */
const parameter = /\$\{[\w@*#?!-](?:[^{}$`'"\\<>]|[<>](?!\())*\}/y;

/** Characters that mean themselves in quotes, read at once: one at a time takes four times as long. */
const quotedRuns: Readonly<Record<Quotes, RegExp>> = {
  single: /[^']+/y,
  double: /[^"\\$`]+/y,
  ansi: /[^'\\]+/y,
};

/** The command that is being read, word by word. */
class CommandWords {
  #words: string[] = [];
  #writes: string[] = [];
  #given: (string | undefined)[] = [];
  /** The word that is being read, up to the last quote or backslash inside it; undefined without any. */
  #before: string | undefined;
  /** The rest of that word; undefined between words. */
  #piece: string | undefined;
  /** Whether a quote or a backslash ends the last piece. */
  #endsApart = false;
  /** The redirection whose target comes next. */
  #operator: string | undefined;

  get isBetweenWords(): boolean {
    return this.#piece === undefined;
  }

  add(text: string): void {
    if (this.#piece === undefined) {
      this.#piece = text;
    } else if (this.#endsApart) {
      this.#before = (this.#before ?? "") + closeVariable(this.#piece, text);
      this.#piece = text;
    } else {
      this.#piece += text;
    }
    this.#endsApart = false;
  }

  /** Adds what a quote or a backslash separates from the rest of its word. */
  addApart(text: string): void {
    this.#endsApart = true;
    this.add(text);
    this.#endsApart = true;
  }

  endWord(): void {
    if (this.#piece === undefined) return;
    const word = this.#before === undefined ? this.#piece : this.#before + this.#piece;
    if (this.#operator === undefined) this.#words.push(word);
    else this.#endTarget(this.#operator, word);
    this.#dropWord();
  }

  #endTarget(operator: string, word: string): void {
    if (operator === "<<<") this.#given.push(word);
    else if (operator === "<" && word.startsWith("<(")) this.#given.push(`$${word.slice(1)}`);
    else if (operator.startsWith("<<")) this.#given.push(undefined);
    else if (isFileWrite(operator, word)) this.#writes.push(word);
    this.#operator = undefined;
  }

  /** The next word is the target of a redirection; a number or `{name}` directly before it is a file descriptor. */
  redirect(operator: string): void {
    if (this.#before === undefined && /^(?:\d+|\{\w+\})$/.test(this.#piece ?? "")) this.#dropWord();
    this.endWord();
    this.#operator = operator;
  }

  #dropWord(): void {
    this.#before = undefined;
    this.#piece = undefined;
    this.#endsApart = false;
  }

  /** Ends the command and begins the next one. Gives it if it has words, or empties a file. */
  take(fedBy: ReadCommand | undefined): ReadCommand | undefined {
    this.endWord();
    this.#operator = undefined;
    const read: ReadCommand = { words: this.#words, writes: this.#writes, given: this.#given, fedBy };
    this.#given = [];
    if (read.words.length === 0 && read.writes.length === 0) return undefined;
    this.#words = [];
    this.#writes = [];
    return read;
  }
}

/** `g$x'it'` as `g${x}it`, since without its quotes it would name another variable. */
function closeVariable(word: string, next: string): string {
  if (!/^\w/.test(next)) return word;
  const name = /\$(\w+)$/.exec(word.slice(-longestVariable))?.[1];
  return name === undefined ? word : `${word.slice(0, -name.length)}{${name}}`;
}

/** In characters. Not all of a word is looked at for each of its quotes. */
const longestVariable = 64;

/** Not to another descriptor (`2>&1`), nor to what keeps nothing. */
function isFileWrite(operator: string, target: string): boolean {
  if (!operator.includes(">") || /^\/dev\/(?:null|stdout|stderr|tty|fd\/\d+)$/.test(target)) return false;
  return !(operator === ">&" && /^(?:\d+-?|-)$/.test(target));
}

function isSubstitution(char: string, next: string | undefined): boolean {
  return char === "`" || ((char === "$" || char === "<" || char === ">") && next === "(");
}

const ansiCode = /^\\(x\p{AHex}{1,2}|u\p{AHex}{1,4}|U\p{AHex}{1,8}|[0-7]{1,3})/u;

/** What a backslash and this are between double quotes: before a new line it joins two lines, before most it is itself. */
function decodeInDouble(next: string): string {
  if (next === "\n") return "";
  return '$`"\\'.includes(next) ? next : `\\${next}`;
}

/** What a backslash and this are in `$'…'`, besides codes. */
function decodeAnsiLetter(next: string): string {
  const blank = ansiBlanks[next];
  if (blank !== undefined) return blank;
  return "'\"\\?".includes(next) ? next : `\\${next}`;
}

const ansiBlanks: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", v: "\v", f: "\f" };

/** Replaces codes such as `\x67` as `$'…'`, `printf` and `echo -e` do; `echo -e` writes octal ones with another zero. */
export function decodeEscapes(text: string): string {
  return text.replaceAll(escapedCode, (_whole, code: string) =>
    decodeAnsi(code.replace(/^0(?=[0-7]{3})/, "")),
  );
}

const escapedCode = /\\(x\p{AHex}{1,2}|u\p{AHex}{1,4}|U\p{AHex}{1,8}|0[0-7]{1,3}|[0-7]{1,3})/gu;

/** The character behind a backslash in `$'…'`: `x67`, `u0067`, `147`. */
function decodeAnsi(code: string): string {
  const number = /^[0-7]/.test(code) ? Number.parseInt(code, 8) : Number.parseInt(code.slice(1), 16);
  return number <= 0x10_ff_ff ? String.fromCodePoint(number) : "";
}
