/** Deeper nesting is not followed but taken apart roughly. */
export const maxDepth = 12;

export interface ParsedScript {
  /** The words of each simple command, those inside substitutions too; never empty. */
  commands: string[][];
  /** False when quotes or a here-document leave open where commands begin. */
  isCertain: boolean;
}

/** Reads the shell's grammar of words, quotes, substitutions and separators. Linear in the script. */
export function readScript(script: string, depth: number): ParsedScript {
  const reader = new ScriptReader(script);
  reader.readList("", depth);
  return { commands: reader.commands.filter((words) => words.length > 0), isCertain: reader.isCertain };
}

class ScriptReader {
  readonly commands: string[][] = [];
  isCertain = true;
  readonly #script: string;
  #at = 0;

  constructor(script: string) {
    this.#script = script;
  }

  /** Reads commands until `end`, or to the end of the script. */
  readList(end: string, depth: number): void {
    const command = new CommandWords();
    /** Of subshells. */
    let parentheses = 0;
    for (;;) {
      const char = this.#script[this.#at];
      if (char === undefined || (char === end && parentheses === 0)) {
        if (char !== end && end !== "") this.isCertain = false;
        this.#at += 1;
        this.#endCommand(command);
        return;
      }
      if (/[;&|()\n]/.test(char)) {
        this.#endCommand(command);
        if (char === "(") parentheses += 1;
        if (char === ")") parentheses = Math.max(0, parentheses - 1);
        this.#at += 1;
      } else {
        this.#readPiece(char, command, depth);
      }
    }
  }

  #endCommand(command: CommandWords): void {
    const words = command.take();
    // The parentheses of its patterns have no partner.
    if (words.includes("case")) this.isCertain = false;
    this.commands.push(words);
  }

  /** Reads what belongs to a command, or parts its words. */
  #readPiece(char: string, command: CommandWords, depth: number): void {
    const next = this.#script[this.#at + 1];
    if (char === "#" && command.isBetweenWords) {
      this.#skipComment();
    } else if (isSubstitution(char, next)) {
      command.add(this.#readSubstitution(depth));
    } else if (char === "'" || char === '"' || (char === "$" && next === "'")) {
      command.add(this.#readQuoted(depth));
    } else if (char === "\\") {
      this.#readEscape(next, command);
    } else if (char === "<" || char === ">") {
      this.#readRedirection(char, command);
    } else {
      if (/\s/.test(char)) command.endWord();
      else command.add(char);
      this.#at += 1;
    }
  }

  #skipComment(): void {
    const line = this.#script.indexOf("\n", this.#at);
    this.#at = line < 0 ? this.#script.length : line;
  }

  /** A backslash before a new line joins two lines. Before these it may be for backticks around it. */
  #readEscape(next: string | undefined, command: CommandWords): void {
    if (next === "`" || next === "\\") this.isCertain = false;
    if (next !== "\n") command.add(next ?? "");
    this.#at += 2;
  }

  #readRedirection(char: string, command: CommandWords): void {
    const following = this.#script.slice(this.#at, this.#at + 3);
    const operator = /^(<<<|<<-?|[<>][&>|]?)/.exec(following)?.[0] ?? char;
    if (operator === "<<" || operator === "<<-") this.isCertain = false;
    command.redirect();
    this.#at += operator.length;
  }

  /** Reads `$(…)` and its like, and gives its text. */
  #readSubstitution(depth: number): string {
    const from = this.#at;
    const isBacktick = this.#script[this.#at] === "`";
    this.#at += isBacktick ? 1 : 2;
    if (depth < maxDepth) {
      this.readList(isBacktick ? "`" : ")", depth + 1);
    } else {
      this.isCertain = false;
      this.#at = this.#script.length;
    }
    return this.#script.slice(from, this.#at);
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
      return next ?? "";
    }
    if (kind === "double" && isSubstitution(char, next) && !"<>".includes(char))
      return this.#readSubstitution(depth);
    this.#at += 1;
    return char;
  }
}

/** `ansi` is `$'…'`: the only single quotes in which a backslash may stand before the quote. */
type Quotes = "single" | "double" | "ansi";

/** The words of the command that is being read, without targets of redirections. */
class CommandWords {
  #words: string[] = [];
  #word: string | undefined;
  #isTarget = false;

  get isBetweenWords(): boolean {
    return this.#word === undefined;
  }

  add(text: string): void {
    this.#word = (this.#word ?? "") + text;
  }

  endWord(): void {
    if (this.#word === undefined) return;
    if (!this.#isTarget) this.#words.push(this.#word);
    this.#isTarget = false;
    this.#word = undefined;
  }

  /** The next word is the target of a redirection; a number directly before it is a file descriptor. */
  redirect(): void {
    if (/^\d+$/.test(this.#word ?? "")) this.#word = undefined;
    this.endWord();
    this.#isTarget = true;
  }

  /** Ends the command: gives its words, and begins the next one. */
  take(): string[] {
    this.endWord();
    const words = this.#words;
    this.#words = [];
    this.#isTarget = false;
    return words;
  }
}

function isSubstitution(char: string, next: string | undefined): boolean {
  return char === "`" || ((char === "$" || char === "<" || char === ">") && next === "(");
}

const ansiCode = /^\\(x\p{AHex}{1,2}|u\p{AHex}{1,4}|U\p{AHex}{1,8}|[0-7]{1,3})/u;

/** The character behind a backslash in `$'…'`: `x67`, `u0067`, `147`. */
function decodeAnsi(code: string): string {
  const number = /^[0-7]/.test(code) ? Number.parseInt(code, 8) : Number.parseInt(code.slice(1), 16);
  return number <= 0x10_ff_ff ? String.fromCodePoint(number) : "";
}
